// SPDX-License-Identifier: Apache-2.0
// A GPU for tests on machines without one: the kernels' own source compiled for the host, every
// thread of a CTA a fiber, CTAs one after the other. Fibers run in random order between barriers,
// so that a missing barrier gives a wrong answer; shared memory starts as NaN and has a guard
// behind it. CTAs of a cluster run side by side; of those the kernel must have all its shared
// memory in the dynamic block, since other variables are one for all. Rounding differs from a GPU
// only where the kernel asks for an approximation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <functional>
#include <random>
#include <stdexcept>
#include <ucontext.h>
#include <utility>
#include <vector>

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __grid_constant__
#undef __launch_bounds__
#define __device__
#define __global__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define cudaFuncSetAttribute(...) cudaSuccess
#define cudaGetDevice(at) (*(at) = 0, cudaSuccess)
#define cudaGetLastError() cudaSuccess
#define cudaMemsetAsync(at, byte, bytes, stream) \
    (static_cast<void>(stream), std::memset(at, byte, bytes), cudaSuccess)

inline uint3 threadIdx, blockIdx;
inline dim3 gridDim, blockDim;
using std::max;
using std::min;

namespace raceline::test {

constexpr std::size_t most_shared_bytes = 232448;  // of a Hopper CTA
constexpr std::size_t guard_floats = 64;
constexpr std::size_t most_ctas_together = 16;  // of a cluster
/// Of the dynamic shared memory of a CTA and of its neighbour in the cluster.
constexpr std::size_t floats_between_ctas = most_shared_bytes / sizeof(float) + guard_floats;
/// What `extern __shared__` names: a block for each CTA that runs.
alignas(1024) inline float shared_block[most_ctas_together * floats_between_ctas];

class Machine {
public:
    static Machine& get() {
        static Machine machine;
        return machine;
    }
    /// `ctas` of so many threads each, of which blockIdx.x has the first's number.
    void run_ctas(unsigned ctas, unsigned threads, std::function<void()> body);
    void wait_for_cta() { pause(Waits::for_cta); }
    void wait_for_warp() { pause(Waits::for_warp); }
    void wait_for_cluster() { pause(Waits::for_cluster); }
    float exchange(float mine, int lanes) {
        const unsigned me = current_;
        slots_[me] = mine;
        wait_for_warp();
        const float theirs = slots_[me ^ static_cast<unsigned>(lanes)];
        wait_for_warp();
        return theirs;
    }

    /// The dynamic shared memory of a CTA of the cluster, and of the one that runs.
    static float* shared_of(std::size_t cta) { return shared_block + cta * floats_between_ctas; }
    float* shared() { return shared_of(current_ / threads_); }
    void store_of_cta(std::uint32_t address, std::uint32_t cta, float value) {
        const auto first = fibers_.begin() + static_cast<std::ptrdiff_t>(cta * threads_);
        if (!begun_[cta] || std::all_of(first, first + threads_, [](const Fiber& f) {
                return f.waits == Waits::for_ever;
            })) {
            throw std::logic_error("a store to a CTA that has not begun, or has ended");
        }
        std::memcpy(reinterpret_cast<char*>(shared_of(cta)) + address, &value, sizeof(value));
    }
    /// cp.async: a copy lands as late as its wait allows, and until then its target holds NaN, so
    /// that a wait too few gives a wrong answer.
    void copy_late(std::uint32_t to, const void* from, int bytes) {
        Fiber& me = fibers_[current_];
        char* target = reinterpret_cast<char*>(shared()) + to;
        std::memset(target, 0xFF, 16);
        me.copies.push_back({target, from, static_cast<std::size_t>(bytes), me.groups});
    }
    void commit_copies() { ++fibers_[current_].groups; }
    void wait_for_copies(int pending) {
        Fiber& me = fibers_[current_];
        std::erase_if(me.copies, [&](const Copy& copy) {
            const bool lands = copy.group + pending < me.groups;
            if (lands) {
                std::memset(copy.to, 0, 16);
                std::memcpy(copy.to, copy.from, copy.bytes);
            }
            return lands;
        });
    }

private:
    enum class Waits { for_nothing, for_cta, for_warp, for_cluster, for_a_while, for_ever };
    struct Copy {
        void* to;
        const void* from;
        std::size_t bytes;
        int group;
    };
    struct Fiber {
        ucontext_t context{};
        std::vector<char> stack = std::vector<char>(96 * 1024);
        Waits waits = Waits::for_nothing;
        std::vector<Copy> copies;
        int groups = 0;
    };

    static void enter() {
        Machine& m = get();
        m.begun_[m.current_ / m.threads_] = true;
        m.body_();
        m.pause(Waits::for_ever);
    }
    void pause(Waits waits) {
        Fiber& me = fibers_[current_];
        me.waits = waits;
        swapcontext(&me.context, &scheduler_);
    }
    bool step(const std::vector<unsigned>& order);
    bool release_warps(bool all);
    bool release_ctas();
    bool all_wait(Waits waits) const {
        return std::all_of(fibers_.begin(), fibers_.end(),
                           [&](const Fiber& f) { return f.waits == waits; });
    }
    /// CTAs of a cluster go on at different times, and so they begin.
    void release_cluster() {
        for (std::size_t i = 0, at_once = 0; i < fibers_.size(); ++i) {
            at_once = i % threads_ == 0 ? random_() % 2 : at_once;
            fibers_[i].waits = at_once != 0 ? Waits::for_nothing : Waits::for_a_while;
        }
    }
    bool release_late_ones() {
        bool released = false;
        for (Fiber& f : fibers_) {
            released = released || f.waits == Waits::for_a_while;
            f.waits = f.waits == Waits::for_a_while ? Waits::for_nothing : f.waits;
        }
        return released;
    }

    std::vector<Fiber> fibers_;
    std::vector<float> slots_;
    std::vector<bool> begun_;  // of each CTA
    std::function<void()> body_;
    ucontext_t scheduler_{};
    unsigned current_ = 0, threads_ = 1, first_cta_ = 0;
    std::mt19937 random_{1};
};

inline bool Machine::step(const std::vector<unsigned>& order) {
    bool ran = false;
    for (const unsigned i : order) {
        if (fibers_[i].waits == Waits::for_nothing) {
            current_ = i;
            threadIdx = {i % threads_, 0, 0};
            blockIdx.x = first_cta_ + i / threads_;
            swapcontext(&scheduler_, &fibers_[i].context);
            ran = true;
        }
    }
    return ran;
}

// Some of the warps whose lanes have all arrived go on, or all of them.
inline bool Machine::release_warps(bool all) {
    bool released = false;
    for (std::size_t warp = 0; warp < fibers_.size(); warp += 32) {
        const auto first = fibers_.begin() + static_cast<std::ptrdiff_t>(warp);
        const bool arrived = std::all_of(first, first + 32,
                                         [](const Fiber& f) { return f.waits == Waits::for_warp; });
        if (arrived && (all || random_() % 2 == 0)) {
            std::for_each(first, first + 32, [](Fiber& f) { f.waits = Waits::for_nothing; });
            released = true;
        }
    }
    return released;
}

// CTAs all of whose threads wait at their barrier go on.
inline bool Machine::release_ctas() {
    bool released = false;
    for (std::size_t cta = 0; cta < fibers_.size(); cta += threads_) {
        const auto first = fibers_.begin() + static_cast<std::ptrdiff_t>(cta);
        const auto last = first + threads_;
        if (std::all_of(first, last, [](const Fiber& f) { return f.waits == Waits::for_cta; })) {
            std::for_each(first, last, [](Fiber& f) { f.waits = Waits::for_nothing; });
            released = true;
        }
    }
    return released;
}

inline void Machine::run_ctas(unsigned ctas, unsigned threads, std::function<void()> body) {
    body_ = std::move(body);
    threads_ = threads;
    first_cta_ = blockIdx.x;
    const unsigned count = ctas * threads;
    slots_.assign(count, 0);
    begun_.assign(ctas, false);
    if (fibers_.size() != count) {
        fibers_ = std::vector<Fiber>(count);
    }
    std::vector<unsigned> order(count);
    for (unsigned i = 0; i < count; ++i) {
        Fiber& f = fibers_[i];
        f.waits = Waits::for_nothing;
        f.copies.clear();
        f.groups = 0;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.data();
        f.context.uc_stack.ss_size = f.stack.size();
        makecontext(&f.context, &Machine::enter, 0);
        order[i] = i;
    }
    if (ctas > 1) {
        release_cluster();
    }
    while (!all_wait(Waits::for_ever)) {
        std::shuffle(order.begin(), order.end(), random_);
        const bool ran = step(order);
        if (!release_warps(!ran) && !ran && !release_ctas() && !release_late_ones()) {
            if (!all_wait(Waits::for_cluster)) {
                throw std::logic_error("threads of a CTA or cluster wait at different barriers");
            }
            release_cluster();
        }
    }
    blockIdx.x = first_cta_;
}

template <class T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(Machine::get().shared());
}

/// Stands in for kernel<<<grid, threads, bytes, stream>>>, and for a launch in clusters.
template <class Kernel>
auto enqueue_in_clusters(Kernel kernel, dim3 grid, unsigned threads, std::size_t bytes,
                         unsigned cluster) {
    return [=](auto... args) {
        gridDim = grid;
        blockDim = dim3(threads);
        const std::size_t floats = bytes / sizeof(float);
        for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z) {
            for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
                for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x += cluster) {
                    for (unsigned cta = 0; cta < cluster; ++cta) {
                        float* memory = Machine::shared_of(cta);
                        std::fill_n(memory, floats, std::nanf(""));
                        std::fill_n(memory + floats, guard_floats, 12345.0F);
                    }
                    Machine::get().run_ctas(cluster, threads, [&] { kernel(args...); });
                    for (unsigned cta = 0; cta < cluster; ++cta) {
                        const float* guard = Machine::shared_of(cta) + floats;
                        if (std::count(guard, guard + guard_floats, 12345.0F) !=
                            static_cast<std::ptrdiff_t>(guard_floats)) {
                            throw std::logic_error("a CTA wrote past its shared memory");
                        }
                    }
                }
            }
        }
    };
}
template <class Kernel>
auto enqueue(Kernel kernel, dim3 grid, unsigned threads, std::size_t bytes = 0,
             void* /*stream*/ = nullptr) {
    return enqueue_in_clusters(kernel, grid, threads, bytes, 1);
}

}  // namespace raceline::test

inline std::size_t __cvta_generic_to_shared(const void* address) {
    return static_cast<std::size_t>(
        static_cast<const char*>(address) -
        reinterpret_cast<const char*>(raceline::test::Machine::get().shared()));
}
inline void __syncthreads() {
    raceline::test::Machine::get().wait_for_cta();
}
inline void __syncwarp() {
    raceline::test::Machine::get().wait_for_warp();
}
inline unsigned atomicAdd(unsigned* at, unsigned by) {  // fibers of one thread: nothing in between
    return std::exchange(*at, *at + by);
}
inline float __shfl_xor_sync(unsigned, float x, int lanes) {
    return raceline::test::Machine::get().exchange(x, lanes);
}
template <class T>
T __ldg(const T* from) {
    return *from;
}
inline float rsqrtf(float x) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline float __uint_as_float(std::uint32_t bits) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}
