// SPDX-License-Identifier: Apache-2.0
// DRAM bandwidths of a CPU: read, write, copy, by all threads and by one.
#include <array>
#include <fmt/format.h>
#include <functional>
#include <memory>

#include "probe/slices.hpp"
#include "probe/steps.hpp"
#include "support/text_table.hpp"

namespace raceline::probe {
namespace {

// What one round of a DRAM probe goes through: about a millisecond's work of a thread.
constexpr std::size_t window_bytes = 16 * mebibyte;

// The slices window by window, in turns: a repetition goes on where the last one stopped, so that
// it is short and yet finds its bytes as the whole footprint left them, out of every cache.
class Windows {
public:
    /// `parts` of every slice are walked side by side: a copy's source and its target.
    Windows(const Slices& slices, int threads, int parts)
        : slices_(slices),
          part_(slices.bytes() / static_cast<std::size_t>(parts) / memory_grain * memory_grain),
          window_(std::min(part_, window_bytes)),
          turns_(static_cast<std::size_t>(threads)) {}

    [[nodiscard]] std::size_t bytes() const { return window_; }
    [[nodiscard]] std::size_t part_bytes() const { return part_; }

    std::byte* next(int thread) {
        std::size_t& turn = turns_[static_cast<std::size_t>(thread)].value;
        const std::size_t at = turn++ % (part_ / window_) * window_;
        return slices_.at(thread) + at;
    }

private:
    struct alignas(64) Turn {  // threads count at the same time: a line each
        std::size_t value = 0;
    };
    const Slices& slices_;
    std::size_t part_, window_;
    std::vector<Turn> turns_;
};

// A quarter of the footprint goes through before anything counts: the first stores would only fill
// caches that reads have left clean, and not yet wait for any line to be written back.
Pass dram_pass(const Setting& setting, int threads, const Windows& windows,
               const std::function<void(int thread)>& step, double bytes_a_step) {
    const std::size_t lead = windows.part_bytes() / 4 / windows.bytes();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) {
        for (std::size_t turn = 0; turn < lead; ++turn) {
            step(thread);
        }
    }
    return best_pass(threads, setting.effort, [&](int thread, std::uint64_t rounds) {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            step(thread);
        }
        return bytes_a_step * static_cast<double>(rounds);
    });
}

// The best of `loops`. Slices have `parts` that are walked side by side; `run` takes a loop and
// where its windows of the first one begin.
template <class Loops, class Run>
Pass best_of(const Setting& setting, int threads, const Slices& slices, int parts,
             const Loops& loops, const Run& run) {
    Pass best;
    Windows windows(slices, threads, parts);
    const double bytes = parts * static_cast<double>(windows.bytes());
    for (const auto loop : loops) {
        const auto step = [&](int thread) { run(loop, windows, windows.next(thread)); };
        best = better(best, dram_pass(setting, threads, windows, step, bytes));
    }
    return best;
}

constexpr auto run_one = [](const auto loop, const Windows& windows, std::byte* at) {
    loop(at, windows.bytes(), 1);
};

Pass dram_read(const Setting& setting, int threads, const Slices& slices) {
    return best_of(setting, threads, slices, 1, read_loops(setting.best), run_one);
}

Pass dram_write(const Setting& setting, int threads, const Slices& slices) {
    const std::array loops{setting.best.write_regular, setting.best.write_streaming};
    return best_of(setting, threads, slices, 1, loops, run_one);
}

// From the slice's first half to its second. Counts bytes read and bytes written.
Pass dram_copy(const Setting& setting, int threads, const Slices& slices) {
    const std::array loops{setting.best.copy_regular, setting.best.copy_streaming};
    return best_of(setting, threads, slices, 2, loops,
                   [](const auto loop, const Windows& windows, std::byte* from) {
                       loop(from + windows.part_bytes(), from, windows.bytes(), 1);
                   });
}

struct DramPasses {
    Pass read, write, copy, read_alone, write_alone;
};

void probe_dram(const Setting& setting, DramPasses& best) {
    const std::size_t footprint = dram_footprint(setting.device);
    {
        const Slices together(footprint, setting.threads);
        best.read = better(best.read, dram_read(setting, setting.threads, together));
        best.write = better(best.write, dram_write(setting, setting.threads, together));
        best.copy = better(best.copy, dram_copy(setting, setting.threads, together));
    }
    const Slices alone(footprint, 1);
    best.read_alone = better(best.read_alone, dram_read(setting, 1, alone));
    best.write_alone = better(best.write_alone, dram_write(setting, 1, alone));
}

void report_dram(const Setting& setting, const DramPasses& best, std::vector<Ceiling>& out) {
    const auto ceiling = [&](const char* id, const Pass& pass, int threads, const char* how) {
        return Ceiling{
            id,
            pass.rate,
            "byte/s",
            pass.clock_hz,
            0,
            fmt::format("{}, {} MiB in all on {} ({}), by windows of {} MiB, best repetition", how,
                        dram_footprint(setting.device) / mebibyte, counted_text(threads, "thread"),
                        setting.best.target, window_bytes / mebibyte),
            0};
    };
    const char* reads = "linear, four-front and prefetched reads";
    const char* writes = "regular and non-temporal stores";
    const char* copies = "copy by regular and non-temporal stores, bytes read and written";
    // First, as the resource that matters most, although the last lap comes at the very end.
    out.insert(out.begin(), {ceiling("byte.dram_read", best.read, setting.threads, reads),
                             ceiling("byte.dram_write", best.write, setting.threads, writes),
                             ceiling("byte.dram_copy", best.copy, setting.threads, copies),
                             ceiling("byte.dram_read.unit", best.read_alone, 1, reads),
                             ceiling("byte.dram_write.unit", best.write_alone, 1, writes)});
}

}  // namespace

// DRAM is shared with whatever else the host runs: laps some seconds apart, so that a busy moment
// does not become the ceiling.
void spread_dram_laps(const Setting& setting, std::vector<Step>& steps) {
    const std::size_t laps = setting.effort.repetitions >= 9 ? 3 : 1;
    const auto best = std::make_shared<DramPasses>();
    const std::size_t others = steps.size();
    for (std::size_t lap = laps; lap-- > 0;) {
        const std::size_t before = laps == 1 ? 0 : others * lap / (laps - 1);
        const bool last = lap + 1 == laps;
        steps.insert(
            steps.begin() + static_cast<std::ptrdiff_t>(before),
            {"DRAM bandwidth", [best, last](const Setting& with, std::vector<Ceiling>& out) {
                 probe_dram(with, *best);
                 if (last) {
                     report_dram(with, *best, out);
                 }
             }});
    }
}

}  // namespace raceline::probe
