// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <initializer_list>
#include <numeric>
#include <random>

#include "probe/slices.hpp"
#include "probe/steps.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline::probe {
namespace {

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
        out.push_back({name, pass.rate, "byte/s", pass.clock_hz, 0,
                       fmt::format("reads of {} to {} KiB in all by {} ({}), linear, "
                                   "four-front and prefetched, best repetition",
                                   sweep.front() / 1024, sweep.back() / 1024,
                                   counted_text(threads, "thread"), setting.best.target),
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
