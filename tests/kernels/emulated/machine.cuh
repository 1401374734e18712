// SPDX-License-Identifier: Apache-2.0
// A GPU for tests on machines without one: the kernels' own source compiled for the host, every
// thread of a CTA a fiber, CTAs one after the other. Fibers run in random order between barriers,
// so that a missing barrier gives a wrong answer; shared memory starts as NaN and has a guard
// behind it. CTAs of a cluster run side by side; of those the kernel must have all its shared
// memory in the dynamic block, since other variables are one for all. Rounding differs from a GPU
// only where the kernel asks for an approximation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <functional>
#include <map>
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
    /// What the lane `of(mine)` of the warp gives, from all of its lanes.
    template <class Of>
    std::uint32_t exchange(std::uint32_t mine, const Of& of) {
        const unsigned me = current_;
        slots_[me] = mine;
        wait_for_warp();
        const std::uint32_t theirs = slots_[me - me % 32 + of(me % 32)];
        wait_for_warp();
        return theirs;
    }

    /// The dynamic shared memory of a CTA of the cluster, and of the one that runs.
    static float* shared_of(std::size_t cta) { return shared_block + cta * floats_between_ctas; }
    float* shared() { return shared_of(current_ / threads_); }

    /// mbarriers, by their addresses in the shared memory of the CTA that runs. A store with which
    /// bytes of one complete lands at any time until somebody could not go on without it.
    void init_barrier(std::uint32_t address, int arrivals) {
        const std::size_t cta = current_ / threads_;
        if (address % sizeof(of_barrier) != 0) {
            throw std::logic_error("a barrier that is not aligned");
        }
        std::memcpy(bytes_of(cta) + address, &of_barrier, sizeof(of_barrier));
        barriers_[{cta, address}] = {arrivals, arrivals, 0, 0};
    }
    void arrive(std::uint32_t address, int bytes) {
        Barrier& barrier = barrier_at(current_ / threads_, address);
        barrier.bytes += bytes;
        --barrier.pending;
        complete(barrier);
    }
    void wait_for_barrier(std::uint32_t address, unsigned parity) {
        Fiber& me = fibers_[current_];
        me.barrier = &barrier_at(current_ / threads_, address);
        me.parity = parity;
        pause(Waits::for_barrier);
    }
    void store_late(std::uint32_t address, std::uint32_t barrier, std::size_t cta,
                    std::uint64_t value) {
        stores_.push_back({address, barrier, cta, value});
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
    enum class Waits {
        for_nothing,
        for_cta,
        for_warp,
        for_cluster,
        for_barrier,
        for_a_while,
        for_ever
    };
    struct Barrier {
        int arrivals = 0, pending = 0, bytes = 0;
        unsigned phase = 0;
    };
    struct Store {
        std::uint32_t address, barrier;
        std::size_t cta;
        std::uint64_t value;
    };
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
        const Barrier* barrier = nullptr;
        unsigned parity = 0;
    };

    static char* bytes_of(std::size_t cta) { return reinterpret_cast<char*>(shared_of(cta)); }
    /// It has eight bytes, which nobody else may write.
    Barrier& barrier_at(std::size_t cta, std::uint32_t address) {
        const auto its = barriers_.find({cta, address});
        if (its == barriers_.end() ||
            std::memcmp(bytes_of(cta) + address, &of_barrier, sizeof(of_barrier)) != 0) {
            throw std::logic_error("a barrier that is not there, or was written over");
        }
        return its->second;
    }
    static void complete(Barrier& barrier) {
        if (barrier.pending == 0 && barrier.bytes == 0) {
            ++barrier.phase;
            barrier.pending = barrier.arrivals;
        }
    }
    void land(const Store& store);
    bool land_stores(bool one);
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
    /// Those whose phase is complete go on, in some CTAs not before nobody else can.
    bool release_from_barriers() {
        bool released = false;
        for (std::size_t i = 0, at_once = 0; i < fibers_.size(); ++i) {
            at_once = i % threads_ == 0 ? random_() % 2 : at_once;
            Fiber& f = fibers_[i];
            if (f.waits == Waits::for_barrier && f.barrier->phase % 2 != f.parity) {
                f.waits = at_once != 0 ? Waits::for_nothing : Waits::for_a_while;
                released = released || at_once != 0;
            }
        }
        return released;
    }
    bool release_late_ones() {
        bool released = false;
        for (Fiber& f : fibers_) {
            released = released || f.waits == Waits::for_a_while;
            f.waits = f.waits == Waits::for_a_while ? Waits::for_nothing : f.waits;
        }
        return released;
    }

    static constexpr std::uint64_t of_barrier = 0xBA881E5C0FFEE123;

    std::vector<Fiber> fibers_;
    std::vector<std::uint32_t> slots_;
    std::map<std::pair<std::size_t, std::uint32_t>, Barrier> barriers_;  // by CTA and address
    std::vector<Store> stores_;                                          // that have not landed
    std::vector<bool> begun_;                                            // of each CTA
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

inline void Machine::land(const Store& store) {
    const auto first = fibers_.begin() + static_cast<std::ptrdiff_t>(store.cta * threads_);
    if (!begun_[store.cta] || std::all_of(first, first + threads_, [](const Fiber& f) {
            return f.waits == Waits::for_ever;
        })) {
        throw std::logic_error("a store to a CTA that has not begun, or has ended");
    }
    if (store.address % sizeof(store.value) != 0) {
        throw std::logic_error("a store of two words that is not aligned");
    }
    Barrier& barrier = barrier_at(store.cta, store.barrier);
    std::memcpy(bytes_of(store.cta) + store.address, &store.value, sizeof(store.value));
    barrier.bytes -= static_cast<int>(sizeof(store.value));
    complete(barrier);
}
// Some of the stores on their way land, in any order, or at least one.
inline bool Machine::land_stores(bool one) {
    std::shuffle(stores_.begin(), stores_.end(), random_);
    const std::size_t before = stores_.size();
    while (!stores_.empty() && (one || random_() % 2 == 0)) {
        const Store store = stores_.back();
        stores_.pop_back();
        land(store);
        one = false;
    }
    return stores_.size() < before;
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
    barriers_.clear();
    stores_.clear();
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
        land_stores(false);
        if (!release_from_barriers() && !release_warps(!ran) && !ran && !release_ctas() &&
            !release_late_ones() && !land_stores(true)) {
            if (!all_wait(Waits::for_cluster)) {
                throw std::logic_error("threads of a CTA or cluster wait at different barriers");
            }
            release_cluster();
        }
    }
    if (!stores_.empty()) {
        throw std::logic_error("a store to a CTA that has ended");
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
inline std::uint32_t __shfl_sync(unsigned, std::uint32_t x, int lane) {
    return raceline::test::Machine::get().exchange(
        x, [&](unsigned) { return static_cast<unsigned>(lane); });
}
template <class T>
T __ldg(const T* from) {
    return *from;
}
inline float rsqrtf(float x) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
inline std::uint64_t __umul64hi(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline float __uint_as_float(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}
inline std::uint32_t __float_as_uint(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
inline float __shfl_xor_sync(unsigned, float x, int lanes) {
    return __uint_as_float(raceline::test::Machine::get().exchange(
        __float_as_uint(x), [&](unsigned me) { return me ^ static_cast<unsigned>(lanes); }));
}
