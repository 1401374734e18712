// SPDX-License-Identifier: Apache-2.0
#include "probe/team.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <omp.h>
#include <sys/mman.h>
#include <vector>

#include "support/check.hpp"
#include "support/rounding.hpp"
#include "timing/measurement.hpp"

namespace raceline::probe {
namespace {

// Long enough for two blocks of the add chain, short against the time in which a core that left
// wide vector code raises its clock again (some 0.5 ms).
constexpr double clock_seconds = 60e-6;

struct Lap {
    double begin = 0, end = 0, work = 0;
};

struct Repetition {
    double seconds = 0;   ///< from the first start to the last end
    double shortest = 0;  ///< the least that one thread was at work
    double work = 0;
};

// A machine with other work on it disturbs most repetitions, but not all: as long as the best still
// improves there is reason to go on, up to so many times the repetitions asked for.
constexpr int patience = 4;

// Raises each thread's entry of `clocks_hz` to what its chains show. An interrupted chain reads
// low and never high, so the highest of all repetitions is the clock: a point lasts some 50 ms.
Repetition run_once(int threads, std::uint64_t rounds, const Body& body,
                    std::vector<double>& clocks_hz) {
    std::vector<Lap> laps(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
    {
        const int thread = omp_get_thread_num();
        Lap lap;
        const double clock_before = cpu_clock_hz(clock_seconds);
#pragma omp barrier
        lap.begin = monotonic_seconds();
        lap.work = body(thread, rounds);
        lap.end = monotonic_seconds();
        double& clock = clocks_hz[static_cast<std::size_t>(thread)];
        clock = std::max({clock, clock_before, cpu_clock_hz(clock_seconds)});
        laps[static_cast<std::size_t>(thread)] = lap;
    }
    double begin = std::numeric_limits<double>::max();
    double end = 0;
    Repetition repetition;
    repetition.shortest = std::numeric_limits<double>::max();
    for (const Lap& lap : laps) {
        repetition.shortest = std::min(repetition.shortest, lap.end - lap.begin);
        begin = std::min(begin, lap.begin);
        end = std::max(end, lap.end);
        repetition.work += lap.work;
    }
    repetition.seconds = end - begin;
    return repetition;
}

}  // namespace

Pass best_pass(int threads, const Effort& effort, const Body& body) {
    std::vector<double> clocks_hz(static_cast<std::size_t>(threads));
    std::uint64_t rounds = 1;
    double rate = 0;
    int improved = 0;  // the repetition that last raised the rate by 1 %
    for (int counted = 0; counted < effort.repetitions * patience; ++counted) {
        const Repetition last = run_once(threads, rounds, body, clocks_hz);
        // What a thread itself was at work, not the span of all: a thread that the system starts
        // late stretches the span, and a loop of no length would seem long enough.
        if (last.shortest < effort.seconds * 0.8) {
            // Too short to count. Grows by 64 at most: a shorter run says little about a longer.
            const double grow = std::clamp(effort.seconds / last.shortest, 1.3, 64.0);
            rounds = static_cast<std::uint64_t>(static_cast<double>(rounds) * grow) + 1;
            counted = -1;
            improved = 0;
            rate = 0;
            continue;
        }
        if (last.work / last.seconds > 1.01 * rate) {
            improved = counted;
        }
        rate = std::max(rate, last.work / last.seconds);
        if (counted + 1 >= effort.repetitions && counted - improved >= effort.repetitions / 2) {
            break;
        }
    }
    Pass pass{rate, 0, std::accumulate(clocks_hz.begin(), clocks_hz.end(), 0.0)};
    pass.clock_hz = pass.summed_clock_hz / threads;
    return pass;
}

const Pass& better(const Pass& left, const Pass& right) {
    return right.rate > left.rate ? right : left;
}

Pages::Pages(std::size_t bytes) {
    constexpr std::size_t huge = std::size_t{2} << 20U;
    bytes_ = round_up(bytes, huge);
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, Status::internal,
            "the probe could not get {} bytes of memory; free some, or give it fewer threads",
            bytes_);
    data_ = static_cast<std::byte*>(memory);
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes_, MADV_HUGEPAGE);  // advice: small pages only make the probe slower
#endif
}

Pages::~Pages() {
    munmap(data_, bytes_);
}

}  // namespace raceline::probe
