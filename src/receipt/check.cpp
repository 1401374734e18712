// SPDX-License-Identifier: Apache-2.0
// What a file claims about itself, verified: chain, hashes, pairs.
#include "support/check.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"

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
        const std::string kind = text(row, "kind");
        if (kind == "measurement") {
            check_pair(row);
            if (const auto measured = row_from_json<MeasurementRow>(row).measurement) {
                check_unsettled(*measured, "measurement");
            }
        } else if (kind == "comparison") {
            const auto compared = row_from_json<ComparisonRow>(row);
            check_unsettled(compared.measurement, "measurement");
            check_unsettled(compared.peer.measurement, "peer");
        } else if (kind == "counters") {
            named(row, "measurement_id", "measurement");
        }
        const std::string id = text(row, "id");
        if (const auto [at, fresh] = rows_.try_emplace(id, Seen{&row, line_}); !fresh) {
            find(fmt::format("id {} is also that of line {}", id, at->second.line));
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

    // A narrow interval of a few samples that were left, or that all were disturbed, is unsettled
    // too; a wide one is never settled.
    void check_unsettled(const Measurement& m, std::string_view side) {
        constexpr int fewest = 3;
        if (is_wide(m) && !m.unsettled) {
            find(
                fmt::format("{}.unsettled is false, but its interval from {} to {} s is wider than "
                            "a tenth of its median of {} s",
                            side, m.seconds_low, m.seconds_high, m.seconds_median));
        } else if (!is_wide(m) && m.unsettled && m.samples - m.disturbed >= fewest) {
            find(
                fmt::format("{}.unsettled is true, but its interval from {} to {} s is within a "
                            "tenth of its median of {} s, and {} samples count",
                            side, m.seconds_low, m.seconds_high, m.seconds_median, m.samples));
        }
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
        // Times of one form compare as text. Equal ones pass: the order of rows decides then.
        if (text(other, "written") > text(row, "written")) {
            find(fmt::format("written {}, before its prediction in line {} ({})",
                             text(row, "written"), prediction->line, text(other, "written")));
        }
    }

    const ReceiptFile& file_;
    std::vector<BadLine> found_;
    std::map<std::string, Seen> rows_;
    Json last_hash_ = nullptr;
    std::size_t line_ = 0;
};

}  // namespace

std::vector<BadLine> check_receipts(const ReceiptFile& file) {
    return Checker(file).run();
}

}  // namespace raceline
