// SPDX-License-Identifier: Apache-2.0
// The core clock as the core itself shows it: a chain of adds, each waiting for the one before,
// retires one add a cycle on every current core. Nothing else tells the clock inside a virtual
// machine, where frequency counters and sysfs entries are absent or frozen.
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "timing/measurement.hpp"

namespace raceline {
namespace {

constexpr int adds_per_round = 64;

// Register operands, never immediates: recent cores fold `add reg, imm` at rename, in no cycle at
// all (Intel's optimization manual, Golden Cove), and the chain would then seem faster than the
// clock. Inline assembly, because a compiler turns a loop of adds into one multiplication.
std::uint64_t add_chain(std::uint64_t rounds, std::uint64_t step) {
    std::uint64_t sum = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
#if defined(__x86_64__)
        asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step) : "cc");
#elif defined(__aarch64__)
        asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#else
        // An empty statement that claims to change `sum` keeps every add apart from the next.
        for (int add = 0; add < adds_per_round; ++add) {
            sum += step;
            asm volatile("" : "+r"(sum));
        }
#endif
    }
    return sum;
}

}  // namespace

double monotonic_seconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// The window is cut into blocks of about 20 µs and the fastest counts: an interrupt or a
// neighbour's turn on the core only ever makes a block look slower than the clock is.
double cpu_clock_hz(double seconds) {
    constexpr double block_seconds = 20e-6;
    std::uint64_t rounds = 16;
    double best_hz = 0;
    const double begin = monotonic_seconds();
    double now = begin;
    do {
        const double before = now;
        static_cast<void>(add_chain(rounds, 1));  // volatile: it stays
        now = monotonic_seconds();
        const double elapsed = now - before;
        if (elapsed < block_seconds && rounds < (1U << 20U)) {
            rounds *= 2;  // not yet long against the clock's own resolution: not a reading
        } else if (elapsed > 0) {
            best_hz = std::max(best_hz, static_cast<double>(rounds * adds_per_round) / elapsed);
        }
    } while (now - begin < seconds || best_hz == 0);
    return best_hz;
}

}  // namespace raceline
