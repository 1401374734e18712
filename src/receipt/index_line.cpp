// SPDX-License-Identifier: Apache-2.0
// The lines of receipts/index.jsonl. What many measurements of a file share (a workload, a model)
// stands once in a table; a measurement names it by its place there, counted from 0.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "receipt/past_measurement.hpp"

namespace raceline {
namespace {

// The order of `columns`. Those of tables first, each with its table's name.
constexpr std::array<std::array<const char*, 2>, 9> tables{{{"kind", "kinds"},
                                                            {"suite", "suites"},
                                                            {"device", "devices"},
                                                            {"kernel", "kernels"},
                                                            {"tile", "tiles"},
                                                            {"workload", "workloads"},
                                                            {"case", "cases"},
                                                            {"model_hash", "models"},
                                                            {"limiter", "limiters"}}};
constexpr std::array<const char*, 3> numbers{"written", "predicted", "measured"};
// Since schema 2.
struct OtherTime {
    const char* name;
    double OtherTimes::* seconds;
};
constexpr std::array<OtherTime, 5> others{{{"expected", &OtherTimes::expected},
                                           {"uncalibrated", &OtherTimes::uncalibrated},
                                           {"datasheet", &OtherTimes::datasheet},
                                           {"roofline", &OtherTimes::roofline},
                                           {"launch_floor", &OtherTimes::launch_floor}}};

// Written before rows of a changed tree were refused. The index has no column for it, and its lines
// are never rewritten.
constexpr std::array<std::string_view, 2> dirty{
    "receipts/h200/2026-11-22-random-20261212-e4m3-e2c90bbd0949.jsonl",
    "receipts/h200/2026-11-22-random-20261213-e4m3-e2c90bbd0949.jsonl"};

class Table {
public:
    std::size_t place_of(const Json& value) {
        const auto [at, fresh] = places_.try_emplace(value.dump(), values_.size());
        if (fresh) {
            values_.push_back(value);
        }
        return at->second;
    }
    [[nodiscard]] const Json& values() const { return values_; }

private:
    std::map<std::string, std::size_t> places_;
    Json values_ = Json::array();
};

bool is_listed(std::string_view path) {
    return std::ranges::find(dirty, path) != dirty.end();
}

Json null_if_missing(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

std::string text_or_empty(const Json& text) {
    return text.is_null() ? std::string() : text.get<std::string>();
}

}  // namespace

std::span<const std::string_view> dirty_files() {
    return dirty;
}

Json index_line(const Json& file, std::string_view commit,
                std::span<const PastMeasurement> measurements, int schema) {
    std::array<Table, tables.size()> shared;
    Json rows = Json::array();
    for (const PastMeasurement& m : measurements) {
        // Its columns have no room for another operation yet, and must not lose one silently.
        if (m.op != PastMeasurement{}.op || m.pass != PastMeasurement{}.pass) {
            throw std::runtime_error("the index has no column for op '" + m.op + "', pass '" +
                                     m.pass + "' yet: add one before this file leaves");
        }
        if (!m.counts && !is_listed(file.at("path").get_ref<const std::string&>())) {
            throw std::runtime_error(
                "rows of a tree with uncommitted changes are no evidence, and the index has no "
                "column that says so: delete the file instead of letting it leave");
        }
        const std::array<Json, tables.size()> values{m.kind,
                                                     m.suite,
                                                     m.device,
                                                     m.kernel,
                                                     m.tile,
                                                     m.workload,
                                                     m.launch,
                                                     null_if_missing(m.model),
                                                     null_if_missing(m.limiter)};
        Json row = Json::array();
        for (std::size_t i = 0; i < values.size(); ++i) {
            row.push_back(shared[i].place_of(values[i]));
        }
        row.push_back(m.written);
        row.push_back(m.model.empty() ? Json(nullptr) : Json(m.predicted));
        row.push_back(m.measured);
        for (const OtherTime& other : others) {
            if (schema > 1) {
                row.push_back(m.others.*other.seconds);
            }
        }
        rows.push_back(std::move(row));
    }
    Json line{{"schema", schema}};
    line.update(file);
    line["commit"] = commit;
    Json columns = Json::array();
    for (std::size_t i = 0; i < tables.size(); ++i) {
        line[tables[i][1]] = shared[i].values();
        columns.push_back(tables[i][0]);
    }
    for (const char* number : numbers) {
        columns.push_back(number);
    }
    for (const OtherTime& other : others) {
        if (schema > 1) {
            columns.push_back(other.name);
        }
    }
    line["columns"] = std::move(columns);
    line["measurements"] = std::move(rows);
    return line;
}

std::vector<PastMeasurement> past_measurements_of_line(const Json& line) {
    std::vector<PastMeasurement> all;
    const bool counts = !is_listed(line.value("path", ""));
    for (const Json& row : line.at("measurements")) {
        std::size_t column = 0;
        const auto shared = [&]() -> const Json& {
            const Json& table = line.at(tables.at(column)[1]);
            return table.at(row.at(column++).get<std::size_t>());
        };
        PastMeasurement m;
        m.kind = shared().get<std::string>();
        m.suite = shared().get<std::string>();
        m.device = shared();
        m.kernel = shared().get<std::string>();
        m.tile = shared();
        m.workload = shared();
        m.launch = shared();
        m.model = text_or_empty(shared());
        m.limiter = text_or_empty(shared());
        m.written = row.at(column).get<std::string>();
        m.predicted = m.model.empty() ? 0 : row.at(column + 1).get<double>();
        m.measured = row.at(column + 2).get<double>();
        column += numbers.size();
        for (const OtherTime& other : others) {
            if (line.at("schema") != 1) {
                m.others.*other.seconds = row.at(column++).get<double>();
            }
        }
        m.counts = counts;
        all.push_back(std::move(m));
    }
    return all;
}

}  // namespace raceline
