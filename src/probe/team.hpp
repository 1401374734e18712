// SPDX-License-Identifier: Apache-2.0
// The repetitions of a CPU probe: threads that start together, and the best of what they reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace raceline::probe {

/// How long and how often one point of a probe runs. Short and often: on a machine with something
/// else to do, all threads must get through one repetition before one loses its core, which the
/// scheduler takes away every few milliseconds.
struct Effort {
    double seconds = 0.001;  ///< of one repetition, at least
    int repetitions = 30;
};

/// The best repetition, and the clock beside it.
struct Pass {
    double rate = 0;             ///< work of all threads / time from first start to last end
    double clock_hz = 0;         ///< mean over the threads, each by its add chain
    double summed_clock_hz = 0;  ///< over the threads: a limit is rate per clock × this
};

/// Does `rounds` rounds of the probe's loop as thread `thread` and returns the work done.
using Body = std::function<double(int thread, std::uint64_t rounds)>;

/// Runs `body` on `threads` OpenMP threads at once, as often as `effort` says, with as many rounds
/// as a repetition needs: one that ends early restarts the count with more rounds. Every thread
/// reads its clock by an add chain right before and after.
Pass best_pass(int threads, const Effort& effort, const Body& body);

/// The better of two passes, by rate.
const Pass& better(const Pass& left, const Pass& right);

/// Anonymous memory on huge pages where the system grants them, so that a bandwidth is not that
/// of the TLB. Nothing is touched yet: a page lives where the thread that first writes it runs.
class Pages {
public:
    explicit Pages(std::size_t bytes);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace raceline::probe
