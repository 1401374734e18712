// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <random>

#include "device/probe_steps.hpp"
#include "support/check.hpp"
#include "timing/measurement.hpp"

namespace raceline::probe {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

// Far more than any cache keeps, also where a virtual machine states a share of a larger one.
std::size_t dram_footprint(const Device& device) {
    const std::size_t wanted =
        std::max(std::size_t{1024} * mebibyte, 32 * static_cast<std::size_t>(device.llc_bytes));
    const auto memory = static_cast<std::size_t>(device.memory_bytes);
    return memory == 0 ? wanted : std::min(wanted, memory / 4);
}

// A thread's own part of a footprint. Whole grains, and at least one.
std::size_t slice_bytes(std::size_t footprint, int threads) {
    const std::size_t slice = footprint / static_cast<std::size_t>(threads);
    return std::max(slice / memory_grain, std::size_t{1}) * memory_grain;
}

// The loops read 2 KiB ahead at most; a spare page keeps that inside the mapping.
class Slices {
public:
    Slices(std::size_t footprint, int threads)
        : bytes_(slice_bytes(footprint, threads)),
          pages_(bytes_ * static_cast<std::size_t>(threads) + memory_grain) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int thread = 0; thread < threads; ++thread) {
            std::memset(at(thread), thread + 1, bytes_);
        }
    }
    [[nodiscard]] std::byte* at(int thread) const {
        return pages_.data() + bytes_ * static_cast<std::size_t>(thread);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    Pages pages_;
};

std::array<VectorLoops::Read, 3> read_loops(const VectorLoops& loops) {
    return {loops.read_linear, loops.read_four_streams, loops.read_prefetched};
}

Pass best_read(const Setting& setting, int threads, const Slices& slices) {
    Pass best;
    for (const auto loop : read_loops(setting.best)) {
        best =
            better(best, best_pass(threads, setting.effort, [&](int thread, std::uint64_t rounds) {
                       loop(slices.at(thread), slices.bytes(), rounds);
                       return static_cast<double>(slices.bytes()) * static_cast<double>(rounds);
                   }));
    }
    return best;
}

Pass best_write(const Setting& setting, int threads, const Slices& slices) {
    Pass best;
    for (const auto loop : {setting.best.write_regular, setting.best.write_streaming}) {
        best =
            better(best, best_pass(threads, setting.effort, [&](int thread, std::uint64_t rounds) {
                       loop(slices.at(thread), slices.bytes(), rounds);
                       return static_cast<double>(slices.bytes()) * static_cast<double>(rounds);
                   }));
    }
    return best;
}

// From the slice's first half to its second. Counts bytes read and bytes written.
Pass best_copy(const Setting& setting, int threads, const Slices& slices) {
    const std::size_t half = slices.bytes() / 2 / memory_grain * memory_grain;
    Pass best;
    for (const auto loop : {setting.best.copy_regular, setting.best.copy_streaming}) {
        best =
            better(best, best_pass(threads, setting.effort, [&](int thread, std::uint64_t rounds) {
                       loop(slices.at(thread) + half, slices.at(thread), half, rounds);
                       return 2 * static_cast<double>(half) * static_cast<double>(rounds);
                   }));
    }
    return best;
}

void probe_dram(const Setting& setting, std::vector<Ceiling>& out) {
    const std::size_t footprint = dram_footprint(setting.device);
    const auto add = [&](const char* id, const Pass& pass, int threads, const char* how) {
        out.push_back({id, pass.rate, "byte/s", pass.clock_hz, 0,
                       fmt::format("{}, {} MiB in all on {} threads ({}), best repetition", how,
                                   footprint / mebibyte, threads, setting.best.target),
                       0});
    };
    // DRAM is shared with whatever else the host runs: laps some seconds apart, so that a busy
    // moment does not become the ceiling.
    const int laps = setting.effort.repetitions >= 9 ? 3 : 1;
    Pass read;
    Pass write;
    Pass copy;
    Pass read_alone;
    Pass write_alone;
    for (int lap = 0; lap < laps; ++lap) {
        const Slices together(footprint, setting.threads);
        read = better(read, best_read(setting, setting.threads, together));
        write = better(write, best_write(setting, setting.threads, together));
        copy = better(copy, best_copy(setting, setting.threads, together));
        const Slices alone(footprint, 1);
        read_alone = better(read_alone, best_read(setting, 1, alone));
        write_alone = better(write_alone, best_write(setting, 1, alone));
    }
    const char* reads = "linear, four-front and prefetched reads";
    const char* writes = "regular and non-temporal stores";
    add("byte.dram_read", read, setting.threads, reads);
    add("byte.dram_write", write, setting.threads, writes);
    add("byte.dram_copy", copy, setting.threads,
        "copy by regular and non-temporal stores, bytes read and written");
    add("byte.dram_read.unit", read_alone, 1, reads);
    add("byte.dram_write.unit", write_alone, 1, writes);
}

// One level is swept at three footprints that lie well inside it and well outside the level above:
// a cyclic stream over twice a cache leaves next to nothing of it for the next round.
struct Level {
    std::string id;
    std::size_t above = 0;  ///< bytes of the faster level, of the threads that run
    std::size_t bytes = 0;  ///< bytes of this one
};

std::vector<std::size_t> footprints(const Level& level) {
    std::vector<std::size_t> sweep;
    for (const double share : {0.25, 0.5, 0.75}) {
        const auto bytes = static_cast<std::size_t>(share * static_cast<double>(level.bytes));
        if (bytes >= 2 * level.above) {
            sweep.push_back(bytes);
        }
    }
    // A last level no larger than the sum of those above only ever holds what they do not.
    if (sweep.empty()) {
        sweep.push_back(level.above + level.bytes / 2);
    }
    return sweep;
}

Pass sweep_level(const Setting& setting, int threads, const Level& level) {
    Pass best;
    for (const std::size_t footprint : footprints(level)) {
        const Slices slices(footprint, threads);
        best = better(best, best_read(setting, threads, slices));
    }
    return best;
}

// Loads a core can start in a cycle: two of 512 bits, three of 256 (Golden Cove), four of 128.
double load_bytes_per_clock(const VectorLoops& loops) {
    const int ports = loops.vector_bytes >= 64 ? 2 : loops.vector_bytes == 32 ? 3 : 4;
    return static_cast<double>(ports * loops.vector_bytes);
}

Level level_of(const Device& device, const std::string& id, int threads) {
    const auto cores = static_cast<std::size_t>(threads);
    const auto l1 = static_cast<std::size_t>(device.l1_bytes) * cores;
    const auto l2 = static_cast<std::size_t>(device.l2_bytes) * cores;
    if (id == "byte.l1") {
        return {id, 0, l1};
    }
    return id == "byte.l2" ? Level{id, l1, l2}
                           : Level{id, l2, static_cast<std::size_t>(device.llc_bytes)};
}

void probe_level(const std::string& id, const Setting& setting, std::vector<Ceiling>& out) {
    const auto add = [&](const std::string& name, int threads) {
        const Level level = level_of(setting.device, id, threads);
        const Pass pass = sweep_level(setting, threads, level);
        const double limit =
            id == "byte.l1" ? load_bytes_per_clock(setting.best) * pass.summed_clock_hz : 0;
        const auto sweep = footprints(level);
        out.push_back(
            {name, pass.rate, "byte/s", pass.clock_hz, 0,
             fmt::format("reads of {} to {} KiB in all by {} threads ({}), linear, "
                         "four-front and prefetched, best repetition",
                         sweep.front() / 1024, sweep.back() / 1024, threads, setting.best.target),
             limit});
    };
    add(id, setting.threads);
    if (id != "byte.l1") {
        add(id + ".unit", 1);  // an L1 belongs to its core: alone it is as fast as in company
    }
}

struct Node {
    const Node* next;
};

// A random cycle through every node (Sattolo's shuffle), one a line: each load waits for the one
// before, and no prefetcher guesses the next.
void probe_latency(const Setting& setting, std::vector<Ceiling>& out) {
    constexpr std::size_t max_nodes = std::size_t{1} << 22U;
    const std::size_t footprint = dram_footprint(setting.device);
    const std::size_t stride = std::max(std::size_t{64}, (footprint / max_nodes + 63) / 64 * 64);
    const std::size_t nodes = footprint / stride;
    std::vector<std::uint32_t> order(nodes);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random(20);  // any fixed seed: the same cycle every time
    for (std::size_t i = nodes - 1; i > 0; --i) {
        std::swap(order[i], order[random() % i]);
    }
    const Pages pages(nodes * stride);
    const auto node = [&](std::size_t i) {
        return reinterpret_cast<Node*>(pages.data() + i * stride);
    };
    for (std::size_t i = 0; i < nodes; ++i) {
        node(i)->next = node(order[i]);
    }
    const Node* at = node(0);
    const Pass pass = best_pass(1, setting.effort, [&at](int, std::uint64_t rounds) {
        const Node* next = at;
        for (std::uint64_t step = 0; step < rounds * 256; ++step) {
            next = next->next;
        }
        at = next;  // the next repetition goes on where this one stopped, on cold lines
        return static_cast<double>(rounds * 256);
    });
    out.push_back({"latency.dram", 1 / pass.rate, "s", pass.clock_hz, 0,
                   fmt::format("pointer chase through a random cycle of {} lines over {} MiB, one "
                               "thread, shortest repetition",
                               nodes, footprint / mebibyte),
                   0});
}

}  // namespace

void append_memory_steps(const Setting& setting, std::vector<Step>& steps) {
    steps.push_back({"DRAM bandwidth", probe_dram});
    const std::initializer_list<std::pair<const char*, std::int64_t>> levels = {
        {"byte.l1", setting.device.l1_bytes},
        {"byte.l2", setting.device.l2_bytes},
        {"byte.llc", setting.device.llc_bytes}};
    for (const auto& [id, bytes] : levels) {
        if (bytes > 0) {
            steps.push_back(
                {std::string(id) + " by footprint sweep",
                 [name = std::string(id)](const Setting& with, std::vector<Ceiling>& out) {
                     probe_level(name, with, out);
                 }});
        }
    }
    steps.push_back({"DRAM latency", probe_latency});
}

}  // namespace raceline::probe
