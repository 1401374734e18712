// SPDX-License-Identifier: Apache-2.0
// What a file claims about itself, verified: chain, hashes, times, pairs.
#include "support/check.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/row_checks.hpp"
#include "receipt/rows.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

// Times of one form compare as text.
constexpr std::string_view end_of_schema_1 = "2026-11-24T00:00:00.000000Z";

std::string text(const Json& row, const char* member) {
    return row.at(member).get<std::string>();
}

// Rows in their order: what each says of itself and of the one before.
class Chain {
public:
    std::vector<const char*> faults_of(const Json& row) {
        std::vector<const char*> faults;
        if (row_hash(row) != text(row, "hash")) {
            faults.push_back("hash does not match the row: it was changed after it was written");
        }
        if (row.at("prev") != last_hash_) {
            faults.push_back(
                last_hash_.is_null()
                    ? "prev must be null in the first row: rows before it are missing"
                    : "prev is not the hash of the row before: rows were removed, inserted, "
                      "changed or re-ordered");
        }
        last_hash_ = row.at("hash");
        return faults;
    }

private:
    Json last_hash_ = nullptr;
};

// Both are in the order of lines.
std::vector<BadLine> merged(const std::vector<BadLine>& bad, const std::vector<BadLine>& found) {
    std::vector<BadLine> all;
    std::merge(bad.begin(), bad.end(), found.begin(), found.end(), std::back_inserter(all),
               [](const BadLine& a, const BadLine& b) { return a.line < b.line; });
    return all;
}

class Checker {
public:
    explicit Checker(const ReceiptFile& file) : file_(file) {}

    std::vector<BadLine> run() {
        for (std::size_t i = 0; i < file_.rows.size(); ++i) {
            line_ = file_.lines[i];
            try {
                // Rows of a ReceiptFile that was not read by us need not be valid.
                validate_row(file_.rows[i]);
                check_row(file_.rows[i]);
            } catch (const Error& e) {
                find(e.what());
            }
        }
        return merged(file_.bad, found_);
    }

private:
    void find(std::string reason) { found_.push_back({line_, std::move(reason)}); }

    void check_row(const Json& row) {
        for (const char* fault : chain_.faults_of(row)) {
            find(fault);
        }
        check_written(row);
        check_schema(row);
        for (std::string& sentence : contradictions_of_row(row)) {
            find(std::move(sentence));
        }
        const std::string kind = text(row, "kind");
        if (kind == MeasurementRow::kind) {
            check_pair(row);
            check_measured_once(row);
        } else if (kind == ComparisonRow::kind) {
            if (!row.value("prediction_id", "").empty()) {
                check_pair(row);
            }
        } else if (kind == CountersRow::kind) {
            named(row, "measurement_id", "measurement");
        }
        const std::string id = text(row, "id");
        if (const auto [at, fresh] = rows_.try_emplace(id, Seen{&row, line_}); !fresh) {
            find(fmt::format("id {} is also that of line {}", id, at->second.line));
        }
    }

    void check_written(const Json& row) {
        const std::string written = text(row, "written");
        if (written > now_) {
            find(fmt::format("written {}, in the future: it is {} by this machine's clock", written,
                             now_));
        }
        if (written < last_written_) {
            find(
                fmt::format("written {}, before the row above it ({}): rows are appended as they "
                            "are written",
                            written, last_written_));
        }
        last_written_ = written;
    }

    // Otherwise whoever writes the older one would be held to fewer rules.
    void check_schema(const Json& row) {
        const int schema = row.at("schema").get<int>();
        if (const std::string written = text(row, "written");
            schema == 1 && written >= end_of_schema_1) {
            find(
                fmt::format("schema 1, written {}: schema 1 was replaced by 2 on {}, and no row "
                            "of it is taken from then on",
                            written, end_of_schema_1.substr(0, 10)));
        }
        if (last_schema_ != 0 && schema != last_schema_) {
            find(fmt::format("schema {} after rows of schema {}: a file is of one schema", schema,
                             last_schema_));
        }
        last_schema_ = schema;
    }

    // The better of two times would be a choice that nobody sees.
    void check_measured_once(const Json& row) {
        const std::string id = text(row, "prediction_id");
        if (const auto [at, fresh] = measured_.try_emplace(id, line_); !fresh) {
            find(
                fmt::format("prediction_id {} is also that of the measurement in line {}: a "
                            "prediction is measured once",
                            id, at->second));
        }
    }

    struct Seen {
        const Json* row;
        std::size_t line;
    };

    // The row of `kind` that `member` names, which must stand earlier in the file; else a finding.
    const Seen* named(const Json& row, const char* member, std::string_view kind) {
        const std::string id = text(row, member);
        const auto at = rows_.find(id);
        if (at == rows_.end() || at->second.row->at("kind") != kind) {
            find(fmt::format("{} {} names no earlier {} row", member, id, kind));
            return nullptr;
        }
        return &at->second;
    }

    void check_pair(const Json& row) {
        const Seen* prediction = named(row, "prediction_id", "prediction");
        if (prediction == nullptr) {
            return;
        }
        const auto compare = [&](std::string_view what, const nlohmann::json& mine,
                                 const nlohmann::json& theirs) {
            if (mine != theirs) {
                find(fmt::format("{} is {}, but its prediction in line {} is about {}", what,
                                 mine.dump(), prediction->line, theirs.dump()));
            }
        };
        const Json& other = *prediction->row;
        const nlohmann::json mine = plain_case(row);
        const nlohmann::json theirs = plain_case(other);
        for (const char* member : {"kernel", "tile", "workload", "op", "pass", "case"}) {
            compare(member, mine.at(member), theirs.at(member));
        }
        compare("device id", row.at("device").at("id"), other.at("device").at("id"));
        // Comparisons repeat what was predicted.
        if (const auto repeated = row.find("prediction");
            repeated != row.end() &&
            nlohmann::json(*repeated) != nlohmann::json(other.at("prediction"))) {
            find(fmt::format("prediction is not that of line {}, which prediction_id names",
                             prediction->line));
        }
        // Equal ones pass: the order of rows decides then.
        if (text(other, "written") > text(row, "written")) {
            find(fmt::format("written {}, before its prediction in line {} ({})",
                             text(row, "written"), prediction->line, text(other, "written")));
        }
    }

    const ReceiptFile& file_;
    std::vector<BadLine> found_;
    std::map<std::string, Seen> rows_;
    std::map<std::string, std::size_t> measured_;  // lines, by the prediction's id
    int last_schema_ = 0;
    Chain chain_;
    std::string last_written_;
    std::string now_ = utc_now();
    std::size_t line_ = 0;
};

}  // namespace

std::vector<BadLine> check_receipts(const ReceiptFile& file) {
    return Checker(file).run();
}

std::vector<BadLine> check_chain(const ReceiptFile& file) {
    std::vector<BadLine> found;
    Chain chain;
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        for (const char* fault : chain.faults_of(file.rows[i])) {
            found.push_back({file.lines[i], fault});
        }
    }
    return merged(file.bad, found);
}

std::vector<std::size_t> unanswered_predictions(const ReceiptFile& file) {
    std::map<std::string, std::size_t> open;     // lines, by id
    std::map<std::string, std::string> last_of;  // ids, by device and case
    const auto case_of = [](const Json& row) {
        return row.at("device").at("id").get<std::string>() + '\n' + case_key(row);
    };
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const Json& row = file.rows[i];
        const std::string kind = text(row, "kind");
        if (kind == PredictionRow::kind) {
            open[text(row, "id")] = file.lines[i];
            last_of[case_of(row)] = text(row, "id");
        } else if (is_about_case(kind)) {
            // One that names no prediction is of the last one of its case.
            const std::string named = row.value("prediction_id", "");
            open.erase(named.empty() ? last_of[case_of(row)] : named);
        }
    }
    std::vector<std::size_t> lines;
    lines.reserve(open.size());
    for (const auto& [id, line] : open) {
        lines.push_back(line);
    }
    std::ranges::sort(lines);
    return lines;
}

}  // namespace raceline
