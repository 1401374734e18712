# SPDX-License-Identifier: Apache-2.0
# Adding a kernel touches one folder: copies the tree, adds kernels/throwaway/, builds with
# `cmake --build` alone, and finds the kernel in `kernels`, `predict`, `check` and `bench`. Before that,
# in the same build folder: `cmake --install` where only the program was built.
file(REMOVE_RECURSE ${WORK}/tree)
file(MAKE_DIRECTORY ${WORK}/tree)
foreach(part CMakeLists.txt CMakePresets.json cmake apps include devices src operations kernels ladder
        cpu gpu tools receipts tests)
  file(COPY ${SOURCE}/${part} DESTINATION ${WORK}/tree)
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK}/tree OUTPUT_VARIABLE out
                  ERROR_VARIABLE err RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${ARGN}: exit ${rc}\n${out}\n${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

function(expect text)
  if(NOT out MATCHES "${text}")
    message(FATAL_ERROR "expected '${text}' in:\n${out}")
  endif()
endfunction()

# The build folder outlives the test, so that a second run compiles next to nothing. Not optimised:
# that is half of the time.
run(${CMAKE_COMMAND} -G Ninja -B ${WORK}/build -S . -DRACELINE_CUDA=OFF -DBUILD_TESTING=OFF
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0)
run(${CMAKE_COMMAND} --build ${WORK}/build --target raceline_cli)
# What is built now is what `make demo` builds: installing builds the rest.
file(GLOB shared ${WORK}/build/libraceline.so*)
file(REMOVE_RECURSE ${shared} ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
foreach(installed bin/raceline libraceline.so libraceline.a)
  file(GLOB_RECURSE found ${WORK}/prefix/${installed} ${WORK}/prefix/*/${installed})
  if(NOT found)
    message(FATAL_ERROR "cmake --install left out ${installed}")
  endif()
endforeach()
run(${WORK}/build/raceline kernels)
if(out MATCHES "throwaway")
  message(FATAL_ERROR "the throw-away kernel is there before it was added")
endif()

# The folder, as a newcomer would write it: a slow and simple kernel for one query token.
file(WRITE ${WORK}/tree/kernels/throwaway/throwaway.cpp [=[
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <vector>

#include "registry/kernel.hpp"

namespace raceline::kernels::throwaway {
namespace {

struct Tile {
    std::int32_t rows;  // query rows a task
    static constexpr std::array<TileField, 1> fields{"rows"};
};
constexpr std::array tiles{Tile{1}, Tile{2}};

std::string supports(const Workload& w, const Tile&, const Device&) {
    const bool plain = w.dtype == DType::fp32 && w.kv_dtype == DType::fp32 && !w.ragged() &&
                       w.page_size == 0 && w.mask == Mask::full && !w.window && w.softcap == 0 &&
                       !w.sinks && !w.mla;
    return plain ? "" : "it runs plain fp32 attention without a mask only";
}

std::vector<Counts> counts(const Workload& w, const Tile&, const Device&) {
    Counts c;
    c.launch = "main";
    c.work = {{"flop.fma.fp32", w.flops()},
              {"byte.dram_read", w.bytes_q() + w.bytes_kv()},
              {"byte.dram_write", w.bytes_out()}};
    c.steps = {{.name = "row", .repeat = 1, .work = c.work, .waits = {}}};
    return {c};
}

Precision precision(const Workload&) {
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) { return 0; }

const KernelRecord<Tile> record{.name = "throwaway",
                                .summary = "a test's kernel",
                                .engine = Engine::cpu,
                                .tiles = std::span<const Tile>(tiles),
                                .functions = {supports, counts, precision, workspace}};
const float* at(const TensorArg& t, std::int64_t b, std::int64_t s, std::int64_t h) {
    return static_cast<const float*>(t.data) + b * t.batch_stride + s * t.seq_stride +
           h * t.head_stride;
}
}  // namespace

void launch(const AttentionArgs& a, int, const Device&, void*, void*) {
    for (std::int64_t b = 0; b < a.batch; ++b) {
        for (std::int64_t h = 0; h < a.heads_q; ++h) {
            const std::int64_t hk = h / (a.heads_q / a.heads_kv);
            for (std::int64_t i = 0; i < a.seqlen_q; ++i) {
                std::vector<float> s(a.seqlen_k);
                float m = -INFINITY;
                for (std::int64_t j = 0; j < a.seqlen_k; ++j) {
                    float dot = 0;
                    for (std::int64_t c = 0; c < a.headdim; ++c) {
                        dot += at(a.q, b, i, h)[c] * at(a.k, b, j, hk)[c];
                    }
                    s[j] = dot * a.scale;
                    m = std::fmax(m, s[j]);
                }
                float l = 0;
                for (float& x : s) {
                    x = std::exp(x - m);
                    l += x;
                }
                float* o = const_cast<float*>(at(a.out, b, i, h));
                for (std::int64_t c = 0; c < a.headdim_v; ++c) {
                    float sum = 0;
                    for (std::int64_t j = 0; j < a.seqlen_k; ++j) {
                        sum += s[j] * at(a.v, b, j, hk)[c];
                    }
                    o[c] = sum / l;
                }
                if (a.lse != nullptr) {
                    a.lse[b * a.lse_batch_stride + i * a.lse_seq_stride + h * a.lse_head_stride] =
                        m + std::log(l);
                }
            }
        }
    }
}
}  // namespace raceline::kernels::throwaway

RACELINE_KERNEL(throwaway, record)
]=])
run(${CMAKE_COMMAND} --build ${WORK}/build --target raceline_cli)

set(ENV{XDG_CACHE_HOME} ${WORK}/cache)
set(ENV{XDG_STATE_HOME} ${WORK}/state)
set(shape b=1,h=2,q=16,k=48,d=64,dtype=fp32)
run(${WORK}/build/raceline kernels)
expect("throwaway")
run(${WORK}/build/raceline predict --device cpu --kernel throwaway --shape ${shape})
expect("throwaway")
run(${WORK}/build/raceline check --device cpu --kernel throwaway --shape ${shape})
expect("rows=2.*pass")
run(${WORK}/build/raceline bench --device cpu --kernel throwaway --shape ${shape})
expect("throwaway.*pass")
message("one folder, and it is listed, predicted, proven and measured")
include(${CMAKE_CURRENT_LIST_DIR}/new_operation.cmake)
