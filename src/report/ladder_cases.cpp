// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_cases.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/registry.hpp"
#include "report/ladder_data.hpp"
#include "report/sights.hpp"
#include "report/stale.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

std::string text(const Json& row, const char* member) {
    return row.at(member).get<std::string>();
}

std::string runs_key(std::string_view device, std::string_view suite, std::string_view kernel) {
    return std::string(device) + '\n' + std::string(suite) + '\n' + std::string(kernel);
}

// Without what a rung may change of the cache.
std::string loose(Workload w) {
    w.kv_dtype = w.dtype;
    w.page_size = 0;
    return format_shape(w);
}

// Without the cache's type alone.
std::string plain(Workload w) {
    w.kv_dtype = w.dtype;
    return format_shape(w);
}

std::map<std::string, double> numbers_in(const Json& object, const char* member) {
    std::map<std::string, double> numbers;
    if (object.contains(member)) {
        for (const auto& [name, value] : object.at(member).items()) {
            if (value.is_number()) {
                numbers[name] = value.get<double>();
            }
        }
    }
    return numbers;
}

Counted counted_from(const Json& counters, const Json& prediction, const std::string& tile) {
    Counted c;
    c.limiter = text(counters, "limiter");
    c.busy = numbers_in(counters, "busy");
    c.seconds = counters.value("seconds", 0.0);
    auto totals = numbers_in(counters, "totals");
    c.dram_read = totals["dram_read_bytes"];
    c.dram_write = totals["dram_write_bytes"];
    c.bank_conflicts = totals["bank_conflicts_load"] + totals["bank_conflicts_store"];
    c.shared_passes = totals["shared_wavefronts"];
    double longest = 0;
    for (const Json& launch : counters.value("launches", Json::array())) {
        auto of = numbers_in(Json{{"launch", launch}}, "launch");
        if (of["seconds"] > longest) {
            longest = of["seconds"];
            c.ctas = of["ctas"];
            c.occupancy = of["occupancy_percent"] / 100;
        }
    }
    double most = 0;
    for (const auto& [reason, warps] : numbers_in(counters, "stalls")) {
        c.stall = warps > most ? reason : c.stall;
        most = std::max(most, warps);
    }
    c.tile = tile;
    c.predicted_limiter = text(prediction, "limiter");
    c.predicted_seconds = prediction.at("seconds").get<double>();
    c.layer1 = numbers_in(prediction, "layer1");
    return c;
}

bool is_of_ladder(std::string_view suite) {
    return suite == "ladder" || suite == "from-scratch";
}

}  // namespace

LadderCases::LadderCases(std::span<const Json> rows, std::span<const PastFile> left)
    : sights_(sights_of_this_build()), began_(starts_of_runs(rows)) {
    judge_by(rows, left);
    std::vector<const Json*> by_time;
    for (const Json& row : rows) {
        const std::string kind = text(row, "kind");
        if (kind == "counters" && row.at("counters").contains("limiter")) {
            counters_[text(row, "measurement_id")] = row.at("counters");
        } else if (kind == "prediction") {
            predictions_[text(row, "id")] = row;
        }
        if (kind == "prediction" || kind == "measurement") {
            by_time.push_back(&row);
        }
    }
    // Rows stand in an array: of two written at once the first in it comes first.
    std::sort(by_time.begin(), by_time.end(), [](const Json* a, const Json* b) {
        const auto order = text(*a, "written").compare(text(*b, "written"));
        return order != 0 ? order < 0 : a < b;
    });
    for (const Json* row : by_time) {
        if (is_of_ladder(text(*row, "suite"))) {
            add(*row);
        }
    }
    for (const PastFile& file : left) {
        for (const PastMeasurement& past : file.measurements) {
            if (is_of_ladder(past.suite) && past.kind == "measurement" && !past.model.empty()) {
                add(file, past);
            }
        }
    }
    for (auto& [kernel, cases] : runs_) {
        for (auto& [key, runs] : cases) {
            // Equal times stay in their order, which a multimap keeps.
            std::multimap<std::string, Run> ordered;
            for (Run& run : runs.in_time) {
                ordered.emplace(run.written, std::move(run));
            }
            runs.in_time.clear();
            for (auto& [written, run] : ordered) {
                runs.in_time.push_back(std::move(run));
            }
        }
    }
}

void LadderCases::judge_by(std::span<const Json> rows, std::span<const PastFile> left) {
    sights_.add(past_measurements(rows));
    for (const PastFile& file : left) {
        sights_.add(file.measurements);
    }
}

void LadderCases::add(const Json& written) {
    const Json row = with_names_of_today(written);
    const bool measured = text(row, "kind") == "measurement";
    const Workload w = workload_from_json(row.at("workload"));
    Run run{row.at("git").dump() + row.at("argv").dump(), text(row, "written"), {}};
    run.result.shape = format_shape(w);
    run.result.tile = row.at("tile").dump();
    run.result.stale = code_has_changed_since(row);
    const Json* prediction = &row;
    if (measured) {
        const auto found = predictions_.find(text(row, "prediction_id"));
        if (found == predictions_.end()) {
            return;  // `report --check` says so
        }
        prediction = &found->second;
        run.result.passed = row.at("correctness").at("passed").get<bool>();
        run.result.measured = settled_seconds(row);
        run.result.id = text(row, "id");
        run.result.written = text(row, "written");
        run.result.first_sight =
            sights_.of(measured_by(written), began_.at(run_of(written))) != Sight::seen;
        const auto counters = counters_.find(text(row, "id"));
        if (counters != counters_.end()) {
            run.result.counted =
                counted_from(counters->second, prediction->at("prediction"), run.result.tile);
        }
    }
    run.result.predicted = prediction->at("prediction").at("seconds").get<double>();
    run.result.limiter = text(prediction->at("prediction"), "limiter");
    insert(row, w, std::move(run));
}

void LadderCases::add(const PastFile& file, const PastMeasurement& past) {
    const Workload w = workload_from_json(past.workload);
    Run run{file.path, past.written, {}};
    run.result.shape = format_shape(w);
    const Json named = with_names_of_today(Json{{"device", past.device},
                                                {"suite", past.suite},
                                                {"kernel", past.kernel},
                                                {"tile", past.tile},
                                                {"case", past.launch}});
    run.result.tile = named.at("tile").dump();
    run.result.stale = true;
    run.result.left = file.path;
    run.result.written = past.written;
    run.result.first_sight = sights_.of(past, past.written) != Sight::seen;
    run.result.measured = past.measured;
    run.result.predicted = past.predicted;
    run.result.limiter = past.limiter;
    insert(named, w, std::move(run));
}

void LadderCases::insert(const Json& of, const Workload& w, Run run) {
    const std::string device = text(of.at("device"), "id");
    devices_.insert(device);
    auto& kernel = runs_[runs_key(device, text(of, "suite"), text(of, "kernel"))];
    Runs& runs = kernel[run.result.shape + of.at("case").dump()];
    runs.shape = run.result.shape;
    runs.plain_shape = plain(w);
    runs.loose_shape = loose(w);
    runs.in_time.push_back(std::move(run));
}

RungCase LadderCases::Runs::at_first_sight() const {
    const auto counts = [](const Run& run) { return run.result.passed && run.result.measured > 0; };
    // Of the session of `run`, what the model would have chosen.
    const auto chosen = [&](const Run& run) {
        const Run* best = &run;
        for (const Run& other : in_time) {
            const bool same = other.session == run.session && counts(other) == counts(run);
            best = same && other.result.predicted < best->result.predicted ? &other : best;
        }
        return best;
    };
    const auto first = std::find_if(in_time.begin(), in_time.end(), counts);
    if (first == in_time.end()) {  // predicted only, or refused by the gate
        const auto refused = std::find_if(in_time.begin(), in_time.end(),
                                          [](const Run& run) { return !run.result.passed; });
        return refused != in_time.end() ? refused->result : chosen(in_time.back())->result;
    }
    const auto last = std::find_if(in_time.rbegin(), in_time.rend(), counts);
    RungCase result = chosen(*first)->result;
    result.counted.reset();
    result.first_sight = first->result.first_sight;
    for (const Run& run : in_time) {
        result.counted = result.counted ? result.counted : run.result.counted;
    }
    const RungCase& now = chosen(*last)->result;
    result.stale = now.stale;
    if (last->session != first->session) {
        result.predicted_last = now.predicted;
        result.measured_last = now.measured;
    }
    return result;
}

const LadderCases::Runs* LadderCases::before(const std::string& device, std::string_view suite,
                                             std::string_view predecessor, const Runs& runs) const {
    const auto found = runs_.find(runs_key(device, suite, predecessor));
    if (found == runs_.end()) {
        return nullptr;
    }
    // The same case; else the one that differs in the cache's type alone; else in its paging, too.
    for (const auto shape : {&Runs::shape, &Runs::plain_shape, &Runs::loose_shape}) {
        for (const auto& [key, other] : found->second) {
            if (other.*shape == runs.*shape) {
                return &other;
            }
        }
    }
    return nullptr;
}

std::vector<RungCase> LadderCases::of(const std::string& device, const Kernel& rung,
                                      std::string_view suite) const {
    const auto found = runs_.find(runs_key(device, suite, rung.name));
    if (found == runs_.end()) {
        return {};
    }
    std::vector<RungCase> cases;
    for (const Workload& w : make_suite(suite).workloads) {
        for (const auto& [key, runs] : found->second) {
            if (runs.shape != format_shape(w)) {
                continue;
            }
            RungCase c = runs.at_first_sight();
            const Runs* other = before(device, suite, rung.rung->predecessor, runs);
            const RungCase earlier = other != nullptr ? other->at_first_sight() : RungCase{};
            if (earlier.passed) {
                c.predicted_before = earlier.predicted;
                c.measured_before = earlier.measured;
                c.id_before = earlier.id;
                c.left_before = earlier.left;
                c.written_before = earlier.written;
            }
            cases.push_back(std::move(c));
        }
    }
    return cases;
}

}  // namespace raceline
