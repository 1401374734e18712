// SPDX-License-Identifier: Apache-2.0
#include "timing/disturbance.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr double least_wait = 20e-6;
constexpr double least_share = 0.02;

/// Number `index` (from 0) of the first line of a small file, or 0.
double number_in(int file, int index) {
    std::array<char, 512> text{};
    const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
    std::string_view line(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    line = line.substr(0, line.find('\n'));
    for (int at = 0; !line.empty(); ++at) {
        line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
        if (error != std::errc() || at == index) {
            return error == std::errc() ? static_cast<double>(value) : 0;
        }
        line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    }
    return 0;
}

}  // namespace

Usage Usage::operator-(const Usage& other) const {
    return {preemptions - other.preemptions, waited_seconds - other.waited_seconds,
            stolen_seconds - other.stolen_seconds, slowdowns - other.slowdowns,
            std::max(other_processes, other.other_processes)};
}

Usage& Usage::operator+=(const Usage& other) {
    preemptions += other.preemptions;
    waited_seconds += other.waited_seconds;
    stolen_seconds += other.stolen_seconds;
    slowdowns += other.slowdowns;
    other_processes = std::max(other_processes, other.other_processes);
    return *this;
}

bool is_disturbed(const Usage& seen, double seconds) {
    const bool waited = seen.waited_seconds > least_share * seconds &&
                        (seen.preemptions > 0 || seen.waited_seconds > least_wait);
    // Without schedstat nobody knows how long a preempted thread had to wait.
    const bool unknown = seen.preemptions > 0 && seen.waited_seconds <= 0;
    return waited || unknown || seen.stolen_seconds > 0 || seen.slowdowns > 0 ||
           seen.other_processes > 0;
}

std::string describe(const Usage& usage) {
    std::vector<std::string> parts;
    if (usage.preemptions > 0) {
        parts.push_back("preempted " +
                        counted_text(static_cast<std::size_t>(usage.preemptions), "time"));
    }
    if (usage.waited_seconds >= least_wait) {
        parts.push_back(format_seconds(usage.waited_seconds) + " without a core");
    }
    if (usage.stolen_seconds > 0) {
        parts.push_back(format_seconds(usage.stolen_seconds) + " stolen by the host");
    }
    if (usage.slowdowns > 0) {
        parts.push_back(fmt::format("{} slowed down for heat or by the board", usage.slowdowns));
    }
    if (usage.other_processes > 0) {
        parts.push_back(counted_text(static_cast<std::size_t>(usage.other_processes),
                                     "other process", "other processes") +
                        " on the GPU");
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

UsageReader::UsageReader() {
    if (DIR* tasks = opendir("/proc/self/task"); tasks != nullptr) {
        while (const dirent* entry = readdir(tasks)) {
            if (entry->d_name[0] == '.') {
                continue;
            }
            const std::string path = "/proc/self/task/" + std::string(entry->d_name) + "/schedstat";
            if (const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
                tasks_.push_back(file);
            }
        }
        closedir(tasks);
    }
    stat_ = open("/proc/stat", O_RDONLY | O_CLOEXEC);
}

UsageReader::~UsageReader() {
    for (const int file : tasks_) {
        close(file);
    }
    if (stat_ >= 0) {
        close(stat_);
    }
}

Usage UsageReader::read() const {
    Usage now;
    rusage used{};
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        now.preemptions = used.ru_nivcsw;
    }
    for (const int file : tasks_) {
        now.waited_seconds += number_in(file, 1) * 1e-9;  // ran, waited, slices
    }
    if (stat_ >= 0) {
        constexpr int steal = 7;  // user nice system idle iowait irq softirq steal
        now.stolen_seconds = number_in(stat_, steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
    return now;
}

}  // namespace raceline
