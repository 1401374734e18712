// SPDX-License-Identifier: Apache-2.0
// What a file claims about itself, verified: chain, hashes, times, pairs.
#include "support/check.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/row_checks.hpp"
#include "receipt/rows.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

std::string text(const Json& row, const char* member) {
    return row.at(member).get<std::string>();
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
        // Both are in the order of lines.
        std::vector<BadLine> all;
        std::merge(file_.bad.begin(), file_.bad.end(), found_.begin(), found_.end(),
                   std::back_inserter(all),
                   [](const BadLine& a, const BadLine& b) { return a.line < b.line; });
        return all;
    }

private:
    void find(std::string reason) { found_.push_back({line_, std::move(reason)}); }

    void check_row(const Json& row) {
        if (row_hash(row) != text(row, "hash")) {
            find("hash does not match the row: it was changed after it was written");
        }
        if (row.at("prev") != last_hash_) {
            find(last_hash_.is_null()
                     ? "prev must be null in the first row: rows before it are missing"
                     : "prev is not the hash of the row before: rows were removed, inserted, "
                       "changed or re-ordered");
        }
        last_hash_ = row.at("hash");
        check_written(row);
        for (std::string& sentence : contradictions_of_row(row)) {
            find(std::move(sentence));
        }
        const std::string kind = text(row, "kind");
        if (kind == MeasurementRow::kind) {
            check_pair(row);
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

    // Times of one form compare as text.
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
    Json last_hash_ = nullptr;
    std::string last_written_;
    std::string now_ = utc_now();
    std::size_t line_ = 0;
};

}  // namespace

std::vector<BadLine> check_receipts(const ReceiptFile& file) {
    return Checker(file).run();
}

}  // namespace raceline
