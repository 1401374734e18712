// SPDX-License-Identifier: Apache-2.0
// What took the cores away from a measurement: preemption, waiting for a core, a host's steal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace raceline {

/// Totals since some point in the past; differences count.
struct Usage {
    std::int64_t preemptions = 0;  ///< involuntary context switches of all threads of this process
    double waited_seconds = 0;     ///< that its threads could have run, but had no core
    double stolen_seconds = 0;     ///< that the host of a virtual machine took its cores away
    int slowdowns = 0;             ///< samples that a GPU's heat or its host slowed down
    int other_processes = 0;       ///< on the GPU; the most seen
    Usage operator-(const Usage& other) const;
    Usage& operator+=(const Usage& other);
};

/// Whether a sample of `seconds` during which `seen` was used up is no measurement of the call.
/// A wait counts from 2 % of the sample on and, if no thread was preempted, from 20 µs on: waking
/// one takes some. So does a preemption, by what it cost; where the system does not tell, any
/// counts.
bool is_disturbed(const Usage& seen, double seconds);

/// "preempted 12 times, 0.21 s without a core": what is not 0.
std::string describe(const Usage& usage);

/// Reads what Linux says of this process: getrusage, /proc/self/task/*/schedstat, /proc/stat. What
/// a system does not tell stays 0. Threads that start later are not seen: make it after a warm-up.
class UsageReader {
public:
    UsageReader();
    UsageReader(UsageReader&&) = delete;
    ~UsageReader();
    [[nodiscard]] Usage read() const;

private:
    std::vector<int> tasks_;  ///< open schedstat files
    int stat_ = -1;
};

}  // namespace raceline
