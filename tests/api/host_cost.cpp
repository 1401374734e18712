// SPDX-License-Identifier: Apache-2.0
// What a call costs its caller's thread, and that a million of them leave no memory behind. A
// program of its own, run on a GPU machine by tools/device_decode.sh.
//
//   device_host_cost [calls that are timed] [calls that must not leak]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "raceline/raceline.hpp"
#include "timing/cuda_runtime.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

/// Calls between two waits: few enough that the driver's queue never makes a call wait.
constexpr int calls_in_queue = 64;

/// One decode call over memory of its own: zeros, since nobody looks at the answer.
class DecodeOnDevice {
public:
    explicit DecodeOnDevice(const Workload& w) {
        const std::int64_t page = w.page_size;
        const std::int64_t pages = page > 0 ? (w.seqlen_k + page - 1) / page : 0;
        const std::vector<std::int64_t> cache =
            page > 0 ? std::vector{w.batch * pages, page, w.heads_kv, w.headdim}
                     : std::vector{w.batch, w.seqlen_k, w.heads_kv, w.headdim};
        args_.q = tensor(w.dtype, {w.batch, w.seqlen_q, w.heads_q, w.headdim});
        args_.out = tensor(w.dtype, {w.batch, w.seqlen_q, w.heads_q, w.headdim});
        args_.k_cache = tensor(w.kv_dtype, cache);
        args_.v_cache = tensor(w.kv_dtype, cache);
        args_.max_seqlen_k = w.seqlen_k;
        if (page > 0) {
            std::vector<std::int32_t> table;
            for (std::int64_t i = 0; i < w.batch * pages; ++i) {
                table.push_back(static_cast<std::int32_t>(i));
            }
            const std::vector<std::int32_t> lengths(static_cast<std::size_t>(w.batch),
                                                    static_cast<std::int32_t>(w.seqlen_k));
            args_.block_table = on_device(table);
            args_.block_table_stride = pages;
            args_.seqlens_k = on_device(lengths);
        }
        const std::size_t bytes = decode_workspace(args_, Place::cuda);
        execution_ = {Place::cuda, stream_.get(), memory(bytes), bytes};
    }

    void call() const { decode(args_, execution_); }
    void wait() const { stream_.synchronize(); }

private:
    std::byte* memory(std::size_t bytes) {
        buffers_.emplace_back(bytes + 1);
        cuda::fill(buffers_.back().data(), 0, bytes + 1);
        return buffers_.back().data();
    }
    TensorView tensor(DType dtype, const std::vector<std::int64_t>& shape) {
        double bytes = bytes_of(dtype);
        for (const std::int64_t size : shape) {
            bytes *= static_cast<double>(size);
        }
        return TensorView::contiguous(memory(static_cast<std::size_t>(bytes)), dtype, shape);
    }
    const std::int32_t* on_device(const std::vector<std::int32_t>& list) {
        std::byte* to = memory(list.size() * sizeof(std::int32_t));
        cuda::upload(to, list.data(), list.size() * sizeof(std::int32_t));
        return reinterpret_cast<const std::int32_t*>(to);
    }

    std::vector<cuda::DeviceBuffer> buffers_;
    cuda::Stream stream_;
    DecodeArgs args_;
    Execution execution_;
};

double microseconds_of(const DecodeOnDevice& on) {
    const auto begun = std::chrono::steady_clock::now();
    on.call();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun)
        .count();
}

void time_calls(const std::string& shape, int calls) {
    const DecodeOnDevice on(parse_shape(shape));
    std::vector<double> times;
    for (int i = 0; i < calls + calls_in_queue; ++i) {
        const double microseconds = microseconds_of(on);
        if (i >= calls_in_queue) {  // the first ones choose a kernel and load its code
            times.push_back(microseconds);
        }
        if (i % calls_in_queue == calls_in_queue - 1) {
            on.wait();
        }
    }
    on.wait();
    std::ranges::sort(times);
    const auto at = [&](double part) {
        return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
    };
    std::printf(
        "%s: host time of a call %.2f us in the median (5 %%: %.2f, 95 %%: %.2f), %d calls\n",
        shape.c_str(), at(0.5), at(0.05), at(0.95), calls);
}

std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    statm >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// 0 if neither side's memory has grown by more than a megabyte.
int look_for_leaks(const std::string& shape, int calls) {
    const DecodeOnDevice on(parse_shape(shape));
    const auto run = [&](int count) {
        for (int i = 0; i < count; ++i) {
            on.call();
            if (i % calls_in_queue == 0) {
                on.wait();
            }
        }
        on.wait();
    };
    run(10'000);
    const std::size_t free_before = cuda::free_bytes();
    const std::size_t resident_before = resident_bytes();
    run(calls);
    const auto lost = static_cast<double>(free_before) - static_cast<double>(cuda::free_bytes());
    const auto grown = static_cast<double>(resident_bytes()) - static_cast<double>(resident_before);
    std::printf("%s: %d calls, %.3f MB of device memory and %.3f MB of the process's gone\n",
                shape.c_str(), calls, lost / 1e6, grown / 1e6);
    return lost > 1e6 || grown > 1e6 ? 1 : 0;
}

}  // namespace
}  // namespace raceline

int main(int argc, char** argv) {
    const int timed = argc > 1 ? std::atoi(argv[1]) : 10'000;
    const int many = argc > 2 ? std::atoi(argv[2]) : 1'000'000;
    try {
        for (const char* shape : {"b=1,h=32/8,q=1,k=1024,d=128,dtype=bf16",
                                  "b=8,h=32/8,q=1,k=512,d=128,dtype=bf16,page=64",
                                  "b=8,h=32/8,q=1,k=512,d=128,dtype=bf16,kv=e4m3,page=64"}) {
            raceline::time_calls(shape, timed);
        }
        return raceline::look_for_leaks("b=2,h=8/2,q=1,k=128,d=64,dtype=bf16,page=64", many);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "device_host_cost: %s\n", error.what());
        return 2;
    }
}
