# SPDX-License-Identifier: Apache-2.0
# Adding an engine with device code touches one folder: copies the tree, but for the engines and rungs
# that it has, adds kernels/throwaway_gpu/ in the style of one, and finds it in `kernels` and `predict`,
# compiled for the GPU, and proven on the emulated machine. So it finds kernels/throwaway_tensor/, the
# same for sm_90a with an instruction that only the machine of tensor cores knows, which would run it.
# Needs nvcc, no GPU.
file(REMOVE_RECURSE ${WORK}/tree)
file(MAKE_DIRECTORY ${WORK}/tree)
foreach(part CMakeLists.txt CMakePresets.json cmake apps include devices src operations kernels ladder cpu gpu
        tools receipts tests bench docs page)
  file(COPY ${SOURCE}/${part} DESTINATION ${WORK}/tree)
endforeach()
# What is left out would only have to be compiled. A rung stays, whose test is named in the program.
file(GLOB others ${WORK}/tree/kernels/* ${WORK}/tree/ladder/*/*)
list(FILTER others EXCLUDE REGEX "/(cpu_flash|linear_onednn|naive)$|/ladder/(prefill|tracks)/[^/]*\\.(cuh|hpp|cpp)$")
file(REMOVE_RECURSE ${others})

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK}/tree OUTPUT_VARIABLE out
                  ERROR_VARIABLE err RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${ARGN}: exit ${rc}\n${out}\n${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

set(folder ${WORK}/tree/kernels/throwaway_gpu)
file(WRITE ${folder}/tile.hpp [=[
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "registry/kernel.hpp"

namespace raceline::kernels::throwaway_gpu {

struct Tile {
    std::int32_t threads;  ///< of a CTA, a query row each
    static constexpr std::array<TileField, 1> fields{"threads"};
};
inline constexpr std::array<Tile, 4> tiles{{{32}, {64}, {96}, {128}}};

}  // namespace raceline::kernels::throwaway_gpu
]=])
file(WRITE ${folder}/instances.hpp [=[
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/throwaway_gpu/tile.hpp"
#include "registry/instances.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::throwaway_gpu {

struct Instances : InstancesOf<AttentionArgs, tiles, 2> {  // head dims 64 and 128
    static constexpr std::string_view engine = "throwaway_gpu";
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::throwaway_gpu
]=])
file(WRITE ${folder}/forward.cuh [=[
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/throwaway_gpu/instances.hpp"
#include "workload/band.hpp"

namespace raceline::kernels::throwaway_gpu {

// Grid: x over tiles of rows, y over query heads, z over the batch. A thread has a row.
template <int index, int d>
__global__ void __launch_bounds__(tiles[index].threads) forward(const __grid_constant__ AttentionArgs a) {
    const int row = static_cast<int>(blockIdx.x) * tiles[index].threads + static_cast<int>(threadIdx.x);
    const int head = static_cast<int>(blockIdx.y);
    const int b = static_cast<int>(blockIdx.z);
    if (row >= a.seqlen_q) {
        return;
    }
    const Band band{a.seqlen_q, a.seqlen_k, a.window_left, a.window_right};
    const auto at = [&](const TensorArg& t, int token, int h) {
        return static_cast<float*>(t.data) + b * t.batch_stride + token * t.seq_stride + h * t.head_stride;
    };
    const int head_kv = head / (a.heads_q / a.heads_kv);
    const float* q = at(a.q, row, head);
    float out[d] = {};
    float highest = -INFINITY, sum = 0;
    for (int key = band.begin(row); key < band.end(row); ++key) {
        float score = 0;
        for (int c = 0; c < d; ++c) {
            score = fmaf(q[c], at(a.k, key, head_kv)[c], score);
        }
        score *= a.scale;
        const float now = score == score ? fmaxf(highest, score) : score;
        const float keep = now == -INFINITY ? 1 : expf(highest - now);
        const float weight = now == -INFINITY ? 0 : expf(score - now);
        highest = now;
        sum = sum * keep + weight;
        for (int c = 0; c < d; ++c) {
            out[c] = out[c] * keep + weight * at(a.v, key, head_kv)[c];
        }
    }
    const bool none = highest == -INFINITY;
    for (int c = 0; c < d; ++c) {
        at(a.out, row, head)[c] = none ? 0 : out[c] / sum;
    }
    if (a.lse != nullptr) {
        a.lse[b * a.lse_batch_stride + row * a.lse_seq_stride + head * a.lse_head_stride] =
            none ? -INFINITY : highest + logf(sum);
    }
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward<tile, variant == 0 ? 64 : 128>;
}

}  // namespace raceline::kernels::throwaway_gpu
]=])
file(WRITE ${folder}/launch.cu [=[
// SPDX-License-Identifier: Apache-2.0
#include "kernels/throwaway_gpu/instances.hpp"
#include "registry/enqueue.cuh"
#include "workload/band.hpp"

namespace raceline::kernels::throwaway_gpu {

void launch(const AttentionArgs& a, int tile, const Device&, void*, void* stream) {
    const int threads = tiles.at(static_cast<std::size_t>(tile)).threads;
    if (a.seqlen_q > 0) {
        const dim3 grid(static_cast<unsigned>(divide_up(a.seqlen_q, threads)), a.heads_q, a.batch);
        launch_instance<Instances>(tile, a.headdim == 64 ? 0 : 1, a, {grid, threads, 0, stream});
    }
}

}  // namespace raceline::kernels::throwaway_gpu
]=])
file(WRITE ${folder}/throwaway_gpu.cpp [=[
// SPDX-License-Identifier: Apache-2.0
#include "kernels/throwaway_gpu/tile.hpp"

namespace raceline::kernels::throwaway_gpu {
namespace {

std::string supports(const Workload& w, const Tile&, const Device& device) {
    const bool plain = w.dtype == DType::fp32 && w.kv_dtype == DType::fp32 && !w.ragged() &&
                       w.page_size == 0 && w.softcap == 0 && !w.sinks && !w.mla &&
                       (w.headdim == 64 || w.headdim == 128) && w.headdim_v == w.headdim;
    return device.kind == DeviceKind::cuda && plain ? "" : "it runs plain fp32 attention on a GPU";
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    Counts c;
    c.launch = "main";
    c.threads = tile.threads;
    c.ctas = std::max<std::int64_t>(1, w.tokens_q() * w.heads_q / tile.threads);
    c.work = {{"flop.fma.fp32", w.flops()},
              {"byte.dram_read", w.bytes_q() + w.bytes_kv()},
              {"byte.dram_write", w.bytes_out()}};
    c.steps = {{.name = "row", .repeat = 1, .work = {}, .waits = {}}};
    return {c};
}

Precision precision(const Workload&) {
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) { return 0; }

}  // namespace
}  // namespace raceline::kernels::throwaway_gpu

RACELINE_KERNEL(throwaway_gpu, record_of("a test's engine", Engine::cuda, tiles,
                                        {supports, counts, precision, workspace}))
]=])

# The other one stages the first element of a row of Q in shared memory, at a place that it asks
# of %tid.x, which the plain machine does not have.
set(other ${WORK}/tree/kernels/throwaway_tensor)
foreach(file tile.hpp instances.hpp forward.cuh launch.cu throwaway_gpu.cpp)
  file(READ ${folder}/${file} text)
  string(REPLACE throwaway_gpu throwaway_tensor text "${text}")
  string(REPLACE throwaway_gpu throwaway_tensor name ${file})
  string(REPLACE forward.cuh forward.sm90a.cuh name ${name})
  if(file STREQUAL "tile.hpp")
    string(REPLACE "{{32}, {64}, {96}, {128}}" "{{128}, {256}, {384}, {512}}" text "${text}")  # whole warpgroups
  elseif(file STREQUAL "launch.cu")
    string(REPLACE "threads, 0, stream" "threads, 4 * static_cast<std::size_t>(threads), stream" text "${text}")
  elseif(file STREQUAL "forward.cuh")
    string(REPLACE "#include <cmath>\n" "#include <cmath>\n\n#include \"gpu/ptx/special_register.cuh\"" text "${text}")
    string(REPLACE "    const int row =" "    extern __shared__ float first[];\n    const int row =" text "${text}")
    string(REPLACE "    float out[d] = {};" [=[
    first[ptx::tid_x_volatile()] = q[0];
    float out[d] = {};]=] text "${text}")
    string(REPLACE "fmaf(q[c]," "fmaf(c == 0 ? first[threadIdx.x] : q[c]," text "${text}")
  endif()
  file(WRITE ${other}/${name} "${text}")
endforeach()

# The same flags as the tree's own build, so that its cache of compiled files serves.
run(${CMAKE_COMMAND} -G Ninja -B ${WORK}/tree/build -S . -DRACELINE_CUDA=ON -DBUILD_TESTING=ON
    -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/tree/build --target raceline_cli test_emulated)
foreach(engine throwaway_gpu throwaway_tensor)
  run(${WORK}/tree/build/raceline kernels)
  if(NOT out MATCHES "${engine} +cuda +4")
    message(FATAL_ERROR "${engine} is not listed:\n${out}")
  endif()
  if(out MATCHES "${engine}[^\n]*predicted only")
    message(FATAL_ERROR "${engine}'s device code was not compiled:\n${out}")
  endif()
  run(${WORK}/tree/build/raceline predict --device h200 --kernel ${engine} --shape h=8,q=512,k=512,d=64,dtype=fp32)
  if(NOT out MATCHES "${engine}")
    message(FATAL_ERROR "${engine} is not predicted:\n${out}")
  endif()
  # The machine of tensor cores takes minutes to compile: that it would run the engine is enough.
  if(engine STREQUAL "throwaway_tensor")
    run(ninja -C ${WORK}/tree/build -t query tests/test_emulated_tensor)
    if(NOT out MATCHES "test_emulated_tensor/kernels/throwaway_tensor/")
      message(FATAL_ERROR "${engine} is not among the proofs of the emulated machine:\n${out}")
    endif()
    continue()
  endif()
  run(${WORK}/tree/build/tests/test_emulated --gtest_filter=*Proof*${engine}*)
  if(NOT out MATCHES "1 test from .* ran" OR NOT out MATCHES "PASSED[^\n]* 1 test")
    message(FATAL_ERROR "${engine} is not proven on the emulated machine:\n${out}")
  endif()
endforeach()
message("one folder of an engine, and it is listed, compiled, predicted and proven")
