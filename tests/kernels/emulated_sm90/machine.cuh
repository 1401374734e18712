// SPDX-License-Identifier: Apache-2.0
// A Hopper SM for tests on machines without one. Every thread of a CTA is a fiber; fibers run in
// random order. What is asynchronous on the device happens here at some random later time: copies
// land late, products are executed as late as their wait allows and read registers and shared
// memory only then, so that a buffer given back too early or a missing wait gives a wrong answer.
// Waiting is polling: when nothing moves any more, that is a deadlock and is thrown.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <ucontext.h>
#include <vector>
#include <vector_functions.h>

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __grid_constant__
#undef __launch_bounds__
#define __device__
#define __global__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define cudaFuncSetAttribute(...) cudaSuccess
#define cudaGetDevice(at) (*(at) = 0, cudaSuccess)
#define cudaGetLastError() cudaSuccess
#define cudaMemsetAsync(at, byte, bytes, stream) (std::memset(at, byte, bytes), cudaSuccess)
#define cudaLaunchKernelEx(config, code, ...)                                   \
    (raceline::test::enqueue(code, (config)->gridDim, (config)->blockDim.x,     \
                             (config)->dynamicSmemBytes, nullptr)(__VA_ARGS__), \
     cudaSuccess)
#define cudaGetDriverEntryPointByVersion raceline::test::find_driver_function

inline uint3 threadIdx, blockIdx;
inline dim3 gridDim, blockDim;

namespace raceline::test {

constexpr std::size_t most_shared_bytes = 232448;  // of a Hopper CTA

/// What cuTensorMapEncodeTiled was told, kept in the map's own bytes.
struct MapRecord {
    std::byte* base;
    std::array<std::uint64_t, 4> sizes;
    std::array<std::uint64_t, 3> strides;
    std::array<std::uint32_t, 4> box;
    std::uint32_t element, swizzle;  ///< bytes of each
};
/// Byte `address` of a tensor as the copy engine's and wgmma's swizzle of 128, 64 or 32 bytes has
/// it: address bits from 4 on take part of those from 7 on.
std::uint32_t swizzled(std::uint32_t address, std::uint32_t swizzle);
cudaError_t find_driver_function(const char* name, void** function, unsigned version,
                                 unsigned long long flags, cudaDriverEntryPointQueryResult* found);

/// One wgmma of a warpgroup: every thread brings its own registers.
enum class Operand { fp16, bf16, e4m3 };
struct Product {
    bool a_in_registers = false;
    Operand type = Operand::fp16;
    bool accumulate = false;
    int columns = 0;
    std::uint64_t a = 0, b = 0;
    std::array<float*, 128> d{};
    std::array<const std::uint32_t*, 128> a_words{};
    int threads = 0;
};

class Machine {
public:
    static Machine& get();
    void run_cta(unsigned threads, std::size_t shared_bytes, const std::function<void()>& body);
    void pause();               ///< lets others run
    void moved() { ++moves_; }  ///< something happened that another fiber may wait for

    // Shared memory. Addresses start off a multiple of 1024, as the manual allows.
    static constexpr std::uint32_t first_address = 1024 + 16;
    std::byte* at(std::uint32_t address, std::size_t bytes);
    /// What `extern __shared__` names: one block for all kernels, since one CTA runs at a time.
    std::byte* shared() { return shared_.data(); }
    std::uint32_t address_of(const void* pointer) const {
        return first_address +
               static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) - shared_.data());
    }

    void init_barrier(std::uint32_t address, std::uint32_t arrivals);
    void arrive(std::uint32_t address, std::int64_t bytes, bool counts);
    void wait_parity(std::uint32_t address, std::uint32_t parity);
    void copy_box(std::uint32_t to, const void* map, std::array<int, 4> from,
                  std::uint32_t barrier);
    std::int64_t copied_bytes() const { return copied_; }  ///< of all boxes that have landed
    /// A copy the other way, in the fiber's current bulk group.
    void store_box(const void* map, std::array<int, 4> to, std::uint32_t from);
    void commit_stores();
    void wait_stores(std::size_t pending);
    void named_barrier(int barrier, int threads, bool waits);
    void sync_threads() { named_barrier(0, static_cast<int>(threads_), true); }
    std::uint32_t exchange(std::uint32_t mine, unsigned from_lane);

    void start_product(const Product& of_thread, float* d, const std::uint32_t* a_words);
    void commit_group();
    void wait_group(std::size_t pending);

private:
    struct Fiber {
        ucontext_t context{};
        std::vector<char> stack = std::vector<char>(128 * 1024);
        bool ended = false;
        std::size_t products = 0;         ///< started so far
        std::vector<std::size_t> groups;  ///< `products` at every commit
        /// Of every bulk group the stores that are under way; the last one is still open.
        std::deque<int> stores = std::deque<int>(1);
    };
    struct Barrier {
        std::uint32_t arrivals = 0, pending = 0;
        std::int64_t bytes = 0;
        std::uint64_t phase = 0;
    };
    struct Named {
        int threads = 0;
        std::uint64_t generation = 0;
    };
    struct Warp {
        std::array<std::array<std::uint32_t, 32>, 2> slots{};
        unsigned arrived = 0;
        std::uint64_t generation = 0;
    };
    struct Warpgroup {
        std::deque<Product> products;  ///< those not executed
        std::size_t executed = 0;
    };
    static void enter();
    void settle(Barrier& barrier);
    bool execute_next(Warpgroup& group);
    void work_behind_the_scenes(bool copies_only);
    Fiber& me() { return fibers_[threadIdx.x]; }

    unsigned threads_ = 0;
    std::vector<Fiber> fibers_;
    alignas(1024) std::array<std::byte, most_shared_bytes> shared_{};
    std::size_t shared_bytes_ = 0;
    std::map<std::uint32_t, Barrier> barriers_;
    std::array<Named, 16> named_{};
    std::vector<Warp> warps_;
    std::vector<Warpgroup> warpgroups_;
    std::vector<std::function<void()>> copies_;
    std::int64_t copied_ = 0;
    std::function<void()> body_;
    ucontext_t scheduler_{};
    std::uint64_t moves_ = 0;
    std::mt19937 random_{1};
};

template <class T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(Machine::get().shared());
}

/// CTAs of a grid in an order of its own each time: a device promises none.
std::vector<uint3> any_order(dim3 grid);

/// Stands in for kernel<<<grid, threads, bytes, stream>>>.
template <class Kernel>
auto enqueue(Kernel kernel, dim3 grid, unsigned threads, std::size_t bytes, void* /*stream*/) {
    return [=](const auto&... args) {
        gridDim = grid;
        blockDim = dim3(threads);
        for (const uint3 cta : any_order(grid)) {
            blockIdx = cta;
            Machine::get().run_cta(threads, bytes, [&] { kernel(args...); });
        }
    };
}

}  // namespace raceline::test

inline std::int32_t __float_as_int(float x) {
    return std::bit_cast<std::int32_t>(x);
}
inline float __int_as_float(std::int32_t x) {
    return std::bit_cast<float>(x);
}
inline std::uint32_t __float_as_uint(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
inline float __uint_as_float(std::uint32_t x) {
    return std::bit_cast<float>(x);
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}

inline void __syncthreads() {
    raceline::test::Machine::get().sync_threads();
}
/// Fibers run one at a time.
inline int __syncthreads_or(int mine) {
    static int any = 0;
    __syncthreads();
    any = 0;
    __syncthreads();
    any |= mine;
    __syncthreads();
    return any;
}
inline std::size_t __cvta_generic_to_shared(const void* pointer) {
    return raceline::test::Machine::get().address_of(pointer);
}
template <class T>
T exchange_bits(T x, unsigned from_lane) {
    static_assert(sizeof(T) == 4);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, 4);
    bits = raceline::test::Machine::get().exchange(bits, from_lane);
    std::memcpy(&x, &bits, 4);
    return x;
}
template <class T>
T __shfl_xor_sync(unsigned, T x, int lanes) {
    return exchange_bits(x, (threadIdx.x % 32) ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_sync(unsigned, T x, int lane) {
    return exchange_bits(x, static_cast<unsigned>(lane));
}
template <class T>
T __shfl_up_sync(unsigned, T x, unsigned by) {
    const unsigned lane = threadIdx.x % 32;
    return exchange_bits(x, lane >= by ? lane - by : lane);
}
inline int __reduce_add_sync(unsigned, int x) {
    int sum = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        sum += exchange_bits(x, lane);
    }
    return sum;
}
inline int __reduce_max_sync(unsigned, int x) {
    int most = x;
    for (unsigned lane = 0; lane < 32; ++lane) {
        most = std::max(most, exchange_bits(x, lane));
    }
    return most;
}
inline unsigned __ballot_sync(unsigned, bool x) {
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        lanes |= exchange_bits(x ? 1U : 0U, lane) << lane;
    }
    return lanes;
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const std::uint64_t both = std::uint64_t{high} << 32U | low;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t byte = both >> (8 * (selector >> (4 * i) & 7U)) & 0xffU;
        result |= static_cast<unsigned>(byte) << (8 * i);
    }
    return result;
}
inline unsigned atomicAdd(unsigned* at, unsigned by) {  // fibers of one thread: nothing in between
    const unsigned before = *at;
    *at += by;
    return before;
}
inline void __syncwarp() {
    __shfl_xor_sync(~0U, 0, 1);
}
inline int __any_sync(unsigned mask, bool x);
inline int __all_sync(unsigned mask, bool x) {
    return __any_sync(mask, !x) == 0 ? 1 : 0;
}
inline int __any_sync(unsigned mask, bool x) {
    int any = x ? 1 : 0;
    for (int lanes = 1; lanes < 32; lanes *= 2) {
        any |= __shfl_xor_sync(mask, any, lanes);
    }
    return any;
}
