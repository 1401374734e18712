// SPDX-License-Identifier: Apache-2.0
// Clock readings inside a probe's kernel.
#pragma once

#include <cuda_runtime.h>

#include "gpu/ptx/special_register.cuh"
#include "probe/gpu.hpp"
#include "raceline/error.hpp"

namespace raceline::probe {

// Every thread of the CTA passes begin and end; thread 0 of CTA 0 reads. Cycles of the SM against
// the wall clock of the device: the clock that this very code ran at, throttling included, which no
// poll from outside can hit for a kernel of a millisecond.
class SpanReader {
public:
    __device__ SpanReader() {
        __syncthreads();
        if (is_reader()) {
            nanoseconds_ = ptx::globaltimer();
            cycles_ = clock64();
        }
    }
    __device__ void end(GpuSpan* out) const {
        __syncthreads();
        if (is_reader() && out != nullptr) {
            const long long cycles = clock64();
            const std::uint64_t nanoseconds = ptx::globaltimer();
            *out = {static_cast<std::uint64_t>(cycles - cycles_), nanoseconds - nanoseconds_};
        }
    }

private:
    __device__ static bool is_reader() { return blockIdx.x == 0 && threadIdx.x == 0; }
    long long cycles_ = 0;
    std::uint64_t nanoseconds_ = 0;
};

// What a loop computed must look used. No sum equals this; if one did, a word is written that
// nobody reads.
__device__ inline void keep(std::uint32_t value, GpuSpan* out) {
    if (value == 0x9e3779b9U && out != nullptr) {
        out->cycles = value;
    }
}

// From the number that came at run time to the one the kernel was compiled with.
template <class Launch>
void with_unroll(int unroll, const Launch& launch) {
    switch (unroll) {
        case 4: launch.template operator()<4>(); return;
        case 8: launch.template operator()<8>(); return;
        case 16: launch.template operator()<16>(); return;
        default: throw Error(Status::internal, "a probe is unrolled 4, 8 or 16 times");
    }
}

inline cudaStream_t as_stream(void* stream) {
    return static_cast<cudaStream_t>(stream);
}

}  // namespace raceline::probe
