// SPDX-License-Identifier: Apache-2.0
#include "model/costs.hpp"

#include <algorithm>

#include "device/power.hpp"
#include "model/constant.hpp"
#include "model/occupancy.hpp"
#include "model/rates.hpp"
#include "model/residency.hpp"
#include "support/check.hpp"
#include "support/rounding.hpp"

namespace raceline {
namespace {

constexpr std::size_t cache_index = 1;
constexpr std::size_t no_link = max_resources;
constexpr std::string_view l2_link = "byte.l2_link";

constexpr Constant schedulers = manual(
    "unit.schedulers", 4,
    "CUDA C++ Programming Guide, compute capabilities 7.0 to 12.0: four warp schedulers an SM");
constexpr double lanes = 32;  // of a warp

double amount_of(const Work& work, std::string_view id) {
    const auto found = work.find(id);
    return found == work.end() ? 0 : found->second;
}

// Fills a LaunchCosts; keeps what only the filling needs.
struct Builder {
    const Device& device;
    const Counts& counts;
    double warm_hits;
    LaunchCosts& out;
    std::array<Speed, max_resources> speeds{};
    Speed dram_read{}, dram_write{};
    double turnaround = turnaround_seconds(device);
    bool cache_counted = false;  // the kernel counts all traffic through the last cache itself
    bool cache_known = false;    // the device has a rate for it
    std::size_t link = no_link;  // index of what passes between the halves of the L2

    // A matrix engine's at the highest clock, where the clock is a result: settle_clock knows it.
    [[nodiscard]] Speed speed(std::string_view id) const {
        const double faster = device.power.sets_clock() ? highest_over_rate_clock(device, id) : 1;
        const Speed lasting = speed_of(device, id);
        return {faster * lasting.device, faster * lasting.alone};
    }

    std::size_t index(std::string_view id) {
        for (std::size_t i = 0; i < out.resources; ++i) {
            if (out.names[i] == id) {
                return i;
            }
        }
        require(out.resources < max_resources, Status::internal,
                "launch '{}' uses more than {} resources", counts.launch, max_resources);
        out.names[out.resources] = id;
        speeds[out.resources] = speed(id);
        return out.resources++;
    }

    void add_dram(Costs& costs, double read, double write) {
        if (read > 0) {
            dram_read = dram_read.device > 0 ? dram_read : speed("byte.dram_read");
            costs.device[dram_index] += read / dram_read.device;
            costs.alone[dram_index] += read / dram_read.alone;
            costs.dram_read_bytes += read;
        }
        if (write > 0) {
            dram_write = dram_write.device > 0 ? dram_write : speed("byte.dram_write");
            costs.device[dram_index] += write / dram_write.device;
            costs.alone[dram_index] += write / dram_write.alone;
        }
        if (link != no_link) {
            add_link(costs, at_home_elsewhere(read + write));
        }
    }

    // A link of the whole chip: no unit has a share of its own to exhaust.
    void add_link(Costs& costs, double bytes) { costs.device[link] += bytes / speeds[link].device; }

    void add_at(Costs& costs, std::size_t i, double amount) {
        costs.device[i] += amount / speeds[i].device;
        costs.alone[i] += amount / speeds[i].alone;
    }

    // Served by the last cache without the kernel having counted it there.
    void add_hits(Costs& costs, double bytes) {
        if (!cache_counted && cache_known && bytes > 0) {
            add_at(costs, cache_index, bytes);
        }
    }

    void add_work(Costs& costs, const Work& work, double factor) {
        costs.device[dram_index] +=
            factor * turnaround *
            std::min(amount_of(work, "byte.dram_write"), amount_of(work, "byte.dram_read"));
        for (const auto& [id, amount] : work) {
            if (amount <= 0) {
                continue;
            }
            if (id == "byte.dram_read") {
                add_dram(costs, factor * amount * (1 - warm_hits), 0);
                add_hits(costs, factor * amount * warm_hits);
            } else if (id == "byte.dram_write") {
                add_dram(costs, 0, factor * amount);
            } else {
                add_at(costs, index(id), factor * amount);
            }
        }
    }

    void open() {
        const std::string_view cache = last_cache_id(device);
        out.resources = 2;
        out.names[dram_index] = dram;
        out.names[cache_index] = cache;
        cache_counted = counts.work.contains(cache);
        cache_known = cache_counted || device.rates.contains(cache);
        if (cache_known) {
            speeds[cache_index] = speed(cache);
        }
        link = device.rates.contains(l2_link) ? index(l2_link) : no_link;
    }

    void note_overlap();
    void note_queues();
    [[nodiscard]] double matrix_share() const;
    [[nodiscard]] double seconds_at_highest() const;
    [[nodiscard]] PowerDraw draw_at_highest(const RereadSplit& rereads) const;
    void settle_clock(const RereadSplit& rereads);
    void add_steps(const RereadSplit& rereads);
};

void Builder::note_overlap() {
    for (const auto& group : counts.overlap) {
        std::uint32_t members = 0;
        for (const std::string& id : group) {
            const std::string_view name = is_dram(id) ? dram : std::string_view(id);
            for (std::size_t i = 0; i < out.resources; ++i) {
                members |= out.names[i] == name ? std::uint32_t{1} << i : 0;
            }
        }
        for (std::size_t i = 0; i < out.resources; ++i) {
            out.beside[i] |= (members >> i & 1) != 0 ? members : 0;
        }
    }
    // Cache traffic that only the model knows of overlaps what the DRAM traffic it replaces does.
    if (!cache_counted) {
        constexpr std::uint32_t both = 1U << dram_index | 1U << cache_index;
        const std::uint32_t with_dram = out.beside[dram_index] | both;
        for (std::size_t i = 0; i < out.resources; ++i) {
            out.beside[i] |= (with_dram >> i & 1) != 0 ? 1U << cache_index : 0;
        }
        out.beside[cache_index] |= with_dram;
        out.beside[dram_index] |= both;
    }
    if (link != no_link) {
        out.beside[link] = ~std::uint32_t{0};
        for (std::size_t i = 0; i < out.resources; ++i) {
            out.beside[i] |= std::uint32_t{1} << link;
        }
    }
    for (std::size_t i = 0; i < out.resources; ++i) {
        const bool gpu_l2 = device.kind != DeviceKind::cpu && out.names[i] == "byte.l2";
        out.shared[i] = i == dram_index || out.names[i] == "byte.llc" || gpu_l2 || i == link;
    }
}

// Multiply-adds are issued one a slot and served at that rate, so that behind the scheduler's queue
// there is none of their own.
void Builder::note_queues() {
    const bool chains =
        std::ranges::any_of(counts.steps, [](const Step& step) { return step.clocks > 0; });
    if (device.kind == DeviceKind::cpu || counts.warps_counted || out.together || !chains) {
        return;
    }
    out.warps = std::max(1.0, counts.threads / lanes);
    for (std::size_t i = 0; i < out.resources; ++i) {
        const std::string_view id = out.names[i];
        const bool of_memory = id == "byte.smem_lsu" || id == "byte.l1";
        const bool of_scheduler = id == "op.issue" || id == "op.ex2" || is_matrix(id);
        const bool adds = id == "flop.fma.fp32" && counts.work.contains("op.issue");
        out.ports[i] = of_memory ? 1 : of_scheduler || adds ? schedulers + 0.0 : 0;
        out.queues[i] = of_memory || of_scheduler;
    }
}

// Re-reads belong to a launch, not to a step: they are spread over the steps as the memory traffic
// of each is, or evenly where the steps name none.
void Builder::add_steps(const RereadSplit& rereads) {
    const double heaviest = counts.imbalance / static_cast<double>(counts.ctas);
    std::vector<double> traffic;
    double traffic_total = 0, repeats = 0;
    for (const Step& step : counts.steps) {
        traffic.push_back(amount_of(step.work, "byte.dram_read") +
                          amount_of(step.work, out.names[cache_index]));
        traffic_total += step.repeat * traffic.back();
        repeats += step.repeat;
    }
    for (std::size_t s = 0; s < counts.steps.size(); ++s) {
        const Step& step = counts.steps[s];
        StepCosts& costs = out.steps.emplace_back();
        costs.repeat = step.repeat;
        costs.in_a_row = step.in_a_row;
        costs.wait_seconds = step.waits.empty() ? 0 : loaded_seconds(device, step.waits);
        add_work(costs.costs, step.work, 1);
        const double share = traffic_total > 0 ? traffic[s] / traffic_total
                             : repeats > 0     ? 1 / repeats
                                               : 0;
        add_dram(costs.costs, heaviest * share * rereads.dram, 0);
        add_hits(costs.costs, heaviest * share * rereads.cache);
    }
    for (std::size_t s = 0; s < counts.steps.size(); ++s) {
        out.steps[s].counted = &counts.steps[s];
        out.steps[s].streams =
            counts.steps[s].repeat > 0 && counts.steps[s].work.contains("byte.dram_read");
        out.together |= !counts.steps[s].clocks_together.empty();
    }
}

// About how long the launch takes at the highest clock: its chain of steps, wave after wave, or the
// resource that is busy longest. What waits in queues beyond that draws little.
double Builder::seconds_at_highest() const {
    double busiest = 0, chain = 0;
    for (std::size_t i = 0; i < out.resources; ++i) {
        busiest = std::max(busiest, out.mean.device[i] * static_cast<double>(counts.ctas));
    }
    const std::int64_t units = std::max(1, device.units);
    const std::int64_t on_unit =
        std::min<std::int64_t>(occupancy(device, counts), divide_up(counts.ctas, units));
    for (const StepCosts& step : out.steps) {
        const double longest = *std::max_element(step.costs.alone.begin(), step.costs.alone.end());
        const double clocks = step.counted == nullptr ? 0 : step.counted->clocks_among(on_unit);
        chain += step.repeat * (std::max(longest, clocks / device.clock_hz) + step.wait_seconds);
    }
    const double waves = static_cast<double>(counts.ctas) / static_cast<double>(units * on_unit);
    return std::max({busiest, chain, chain / std::max(1.0, counts.imbalance) * waves});
}

PowerDraw Builder::draw_at_highest(const RereadSplit& rereads) const {
    const double seconds = seconds_at_highest();
    PowerDraw all;
    const auto add = [&](std::string_view id, double amount) {
        const PowerDraw one = draw_of(device, id, amount / seconds);
        all.chip_w += one.chip_w;
        all.memory_w += one.memory_w;
    };
    const bool issues =
        counts.work.contains("op.issue") && device.power.joules.contains("op.issue");
    for (const auto& [id, amount] : counts.work) {
        // An instruction's energy holds that of its multiply-add, where a device has the former.
        if (seconds > 0 && !(issues && id == "flop.fma.fp32")) {
            add(id, id == "byte.dram_read" ? amount * (1 - warm_hits) + rereads.dram : amount);
        }
    }
    return all;
}

void Builder::settle_clock(const RereadSplit& rereads) {
    double slower = 1;
    if (device.power.sets_clock()) {
        out.clock = clock_within_limit(device, draw_at_highest(rereads));
        slower = device.clock_hz / out.clock;
    } else {
        // Between the highest and that of nothing but products; what else a launch moves may draw
        // so much that the board cannot keep even that.
        out.clock = clock_under_load(device, matrix_share());
        const double lasting = device.sustained_clock_hz;
        if (device.power.known() && lasting > 0) {
            PowerDraw draw = draw_at_highest(rereads);  // from rates that hold at this clock
            draw.chip_w *= device.clock_hz / out.clock;
            draw.memory_w *= device.clock_hz / out.clock;
            if (const double kept = clock_within_limit(device, draw); kept < lasting) {
                out.clock = kept;
                slower = lasting / kept;
            }
        }
    }
    for (StepCosts& step : out.steps) {
        step.clock = step.counted == nullptr ? 0 : out.clock;
    }
    for (std::size_t i = 0; i < out.resources; ++i) {
        if (!goes_by_unit_clock(out.names[i])) {
            continue;
        }
        out.mean.device[i] *= slower;
        out.mean.alone[i] *= slower;
        for (StepCosts& step : out.steps) {
            step.costs.device[i] *= slower;
            step.costs.alone[i] *= slower;
        }
    }
}

// Of the time that the heaviest CTA takes at the highest clock, what the matrix products of its
// unit take alone; of all units, whose power is the chip's, only those at work draw it.
double Builder::matrix_share() const {
    const double slower = clock_under_load(device, 1) / device.clock_hz;
    const std::int64_t units = std::max(1, device.units);
    const std::int64_t on_unit = divide_up(counts.ctas, units);
    double matrix = 0, all = 0;
    for (std::size_t s = 0; s < counts.steps.size(); ++s) {
        const Step& step = counts.steps[s];
        double products = 0;
        for (std::size_t i = 0; i < out.resources; ++i) {
            products += is_matrix(out.names[i]) ? out.steps[s].costs.alone[i] * slower : 0;
        }
        const auto known = static_cast<std::int64_t>(step.clocks_together.size()) + 1;
        const std::int64_t residents = std::min(on_unit, known);
        const double of_one = step.clocks_among(residents) / static_cast<double>(residents);
        matrix += step.repeat * products;
        all += step.repeat * std::max(products, of_one / device.clock_hz);
    }
    const double at_work =
        std::min(1.0, static_cast<double>(counts.ctas) / std::max(1, device.units));
    return all > 0 ? at_work * matrix / all : 0;
}

}  // namespace

LaunchCosts launch_costs(const Device& device, const Counts& counts, double warm_hits) {
    // A ratio of sums may fall short of 1 by rounding.
    require(counts.ctas > 0 && counts.imbalance >= 1 - 1e-6 && counts.cluster >= 1,
            Status::internal,
            "launch '{}' counts {} CTAs, clusters of {} and an imbalance of {}; each is at least 1",
            counts.launch, counts.ctas, counts.cluster, counts.imbalance);
    LaunchCosts out;
    Builder builder{.device = device, .counts = counts, .warm_hits = warm_hits, .out = out};
    builder.open();
    const RereadSplit rereads = split_rereads(device, counts.reread);
    const double mean = 1 / static_cast<double>(counts.ctas);
    builder.add_work(out.mean, counts.work, mean);
    builder.add_dram(out.mean, mean * rereads.dram, 0);
    builder.add_hits(out.mean, mean * rereads.cache);
    if (builder.link != no_link) {
        builder.add_link(out.mean, mean * copied_between_halves(device, counts.reread));
    }

    out.steps.reserve(std::max<std::size_t>(1, counts.steps.size()));
    if (counts.steps.empty()) {
        StepCosts& whole = out.steps.emplace_back();
        whole.repeat = std::max(1.0, counts.imbalance);
        whole.costs = out.mean;
    } else {
        builder.add_steps(rereads);
    }
    builder.settle_clock(rereads);
    builder.note_overlap();
    builder.note_queues();
    const double latency = loaded_seconds(device, "latency.dram");
    if (counts.bytes_in_flight > 0 && latency > 0) {
        out.latency_per_byte = latency / counts.bytes_in_flight;
    }
    return out;
}

}  // namespace raceline
