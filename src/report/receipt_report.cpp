// SPDX-License-Identifier: Apache-2.0
#include "report/receipt_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "receipt/past_measurement.hpp"
#include "receipt/row.hpp"
#include "registry/registry.hpp"
#include "support/sha256.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// A median may undercut a ceiling by the noise of either; beyond this the ceiling is wrong.
constexpr double beaten = 0.97;

const Kernel* known_kernel(std::string_view name) {
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.name == name) {
            return &kernel;
        }
    }
    return nullptr;
}

std::string tile_text(const Json& tile) {
    std::string text;
    for (const auto& [name, value] : tile.items()) {
        text += (text.empty() ? "" : ",") + name + "=" + value.dump();
    }
    return text;
}

CaseLine base_line(const Json& row) {
    CaseLine line;
    const Workload w = workload_from_json(row.at("workload"));
    line.shape = format_shape(w);
    line.kernel = row.at("kernel").get<std::string>();
    line.tile = tile_text(row.at("tile"));
    line.flops = w.flops();
    line.bytes = w.bytes_q() + w.bytes_kv() + w.bytes_out();
    return line;
}

}  // namespace

ReceiptReport::ReceiptReport(std::span<const build_info::EmbeddedSight> committed)
    : committed_(committed) {}

void ReceiptReport::add(const std::string& path) {
    const ReceiptFile file = read_receipts(path);
    for (const BadLine& bad : file.bad) {
        broken_.push_back({path, bad.line, bad.reason});
        findings_.push_back(broken_.back());
    }
    for (const BadLine& bad : check_receipts(file)) {
        const bool known = std::any_of(file.bad.begin(), file.bad.end(),
                                       [&](const BadLine& b) { return b.line == bad.line; });
        if (!known) {
            findings_.push_back({path, bad.line, bad.reason});
        }
    }
    if (file.unfinished) {
        findings_.push_back({path, file.rows.size() + file.bad.size() + 1,
                             "unfinished: a writer was killed; the next run cuts this line"});
    }
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const Json& row = file.rows[i];
        rows_.push_back(row);
        const std::string kind = row.at("kind").get<std::string>();
        if (kind == "prediction") {
            predictions_[row.at("id").get<std::string>()] = row;
        } else if (kind == "measurement") {
            add_measurement(path, file.lines[i], row);
        } else if (kind == "refusal") {
            CaseLine line = base_line(row);
            line.refusal = row.at("reason").get<std::string>();
            lines_.push_back(std::move(line));
        }
    }
}

void ReceiptReport::add_measurement(const std::string& path, std::size_t number, const Json& row) {
    CaseLine line = base_line(row);
    const Kernel* kernel = known_kernel(line.kernel);
    if (kernel != nullptr && row.at("source_hash") != kernel->source_hash) {
        ++stale_;
        line.kernel += " (stale)";
    }
    const Json& verdict = row.at("correctness");
    line.checked = true;
    line.passed = verdict.at("passed").get<bool>();
    line.relative_rms = number_or_nan(verdict, "relative_rms");
    line.rms_bound = number_or_nan(verdict, "bound");
    line.worst = number_or_nan(verdict, "worst");
    line.why = verdict.value("why", "");
    line.seen = seen_before(row);
    const auto found = predictions_.find(row.at("prediction_id").get<std::string>());
    if (found != predictions_.end()) {
        const Prediction p = prediction_from_json(found->second.at("prediction"));
        line.limiter = p.limiter;
        line.predicted = p.seconds;
        line.bound = p.layer1.bound_seconds;
        line.intensity = p.layer1.arithmetic_intensity;
    }
    if (row.at("measurement").is_object()) {
        const Measurement m = measurement_from_json(row.at("measurement"));
        line.measured = m.seconds_median;
        line.spread = (m.seconds_high - m.seconds_low) / 2 / m.seconds_median;
        if (row.at("case").at("cold").get<bool>() && m.seconds_median < beaten * line.bound) {
            findings_.push_back(
                {path, number,
                 fmt::format(
                     "{} took {} on {}, less than the {} that its ceilings allow: the probe "
                     "of its limiter must be mended",
                     line.kernel, format_seconds(m.seconds_median), line.shape,
                     format_seconds(line.bound))});
        }
    }
    const std::string id = row.at("device").at("id").get<std::string>();
    if (lines_.empty() ||
        device_text_.find(row.at("device").at("name").get<std::string>()) == std::string::npos) {
        device_text_ += fmt::format("{}{} ({})", device_text_.empty() ? "" : "; ",
                                    row.at("device").at("name").get<std::string>(), id);
    }
    lines_.push_back(std::move(line));
}

bool ReceiptReport::seen_before(const Json& row) {
    const std::string key = first_sight_key(row.at("device"), row.at("kernel").get<std::string>(),
                                            row.at("tile"), row.at("workload"), row.at("case"));
    const bool in_these_files = seen_[key]++ > 0;
    const std::string hash = sha256_hex(key).substr(0, 16);
    const auto known =
        std::ranges::lower_bound(committed_, hash, {}, &build_info::EmbeddedSight::key);
    return in_these_files || (known != committed_.end() && known->key == hash &&
                              known->first < row.at("written").get<std::string>());
}

std::string ReceiptReport::str() const {
    CaseTable table{Device{}};
    for (const CaseLine& line : lines_) {
        table.add(line);
    }
    std::string text = device_text_.empty() ? "" : device_text_ + "\n";
    text += table.str(CaseTable::Columns::all);
    if (stale_ > 0) {
        text += fmt::format("{} stale row{}: their kernel has changed since\n", stale_,
                            stale_ == 1 ? "" : "s");
    }
    return text;
}

}  // namespace raceline
