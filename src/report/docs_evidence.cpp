// SPDX-License-Identifier: Apache-2.0
#include "report/docs_evidence.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "receipt/file.hpp"
#include "receipt/manifest.hpp"
#include "receipt/stored_text.hpp"
#include "report/stale.hpp"
#include "support/check.hpp"
#include "support/words.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr const char* evidence_file = "docs/evidence.json";

// Contenders of a comparison take turns: none of them has the device for itself for long.
std::string regime_of(const RowCase& about, const std::string& kind) {
    if (kind == CheckRow::kind) {
        return "not timed";
    }
    if (kind == ComparisonRow::kind && about.launch.regime == "sustained") {
        return "interleaved";
    }
    return about.launch.regime;
}

std::string regime_text(const std::string& regime) {
    static const std::map<std::string, std::string> texts{
        {"interleaved", "regime interleaved (the contenders take turns)"},
        {"sustained", "regime sustained (call upon call)"},
        {"alone", "regime alone (rests between samples)"},
        {"not timed", "not timed"}};
    const auto found = texts.find(regime);
    return found == texts.end() ? "regime " + regime : found->second;
}

// What follows `--spread`, the standard deviation of the logits; 1 if it was not given.
std::string spread_of(const Json& row) {
    const Json& argv = row.at("argv");
    for (std::size_t i = 0; i + 1 < argv.size(); ++i) {
        if (argv[i] == "--spread") {
            return argv[i + 1].get<std::string>();
        }
    }
    return "1";
}

double member_or_zero(const Json& object, const char* member) {
    const auto found = object.find(member);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// Of the row that a run writes about its device; 0 where no copy was measured.
double copy_ceiling(const Json& row) {
    const Json rates = row.value("state", Json::object()).value("rates", Json::object());
    const auto copy = rates.find("byte.dram_copy");
    return copy == rates.end() ? 0 : member_or_zero(*copy, "value");
}

void fill(DocsSample& sample, const MeasurementRow& row) {
    sample.measured = row.measurement;
    sample.passed = row.correctness.passed;
    sample.relative_rms = row.correctness.relative_rms;
    sample.bound = row.correctness.bound;
}

void fill(DocsSample& sample, const ComparisonRow& row) {
    sample.measured = row.measurement;
    sample.passed = !row.correctness || row.correctness->passed;
    if (row.correctness) {
        sample.relative_rms = member_or_zero(row.correctness->more, "relative_rms");
        sample.bound = member_or_zero(row.correctness->more, "bound");
    }
    sample.peer = row.peer;
    sample.peer_rms = member_or_zero(row.peer.correctness.more, "relative_rms");
    sample.ratio = row.ratio;
}

void fill(DocsSample& sample, const CheckRow& row) {
    sample.passed = row.correctness.passed;
    sample.relative_rms = row.correctness.relative_rms;
    sample.bound = row.correctness.bound;
    sample.logits = row.more.value("logits", std::string());
    const auto peer = row.more.find("peer");
    if (peer != row.more.end()) {
        sample.peer.emplace();
        sample.peer->name = peer->at("name").get<std::string>();
        sample.peer_rms = member_or_zero(peer->at("correctness"), "relative_rms");
    }
}

template <class Row>
DocsSample sample_of(const Json& json, const std::string& path,
                     const std::map<std::string, PredictionRow>& predictions) {
    const auto row = row_from_json<Row>(json);
    DocsSample sample;
    sample.about = row.about;
    sample.workload = workload_from_json(row.about.workload);
    sample.kind = Row::kind;
    sample.file = path;
    sample.commit = json.at("git").at("commit").get<std::string>().substr(0, 12);
    sample.written = json.at("written").get<std::string>();
    sample.date = sample.written.substr(0, 10);
    sample.regime = regime_of(row.about, sample.kind);
    sample.spread = spread_of(json);
    sample.changed = code_has_changed_since(json);
    fill(sample, row);
    if constexpr (requires { row.prediction_id; }) {
        const auto found = predictions.find(row.prediction_id);
        if (found != predictions.end()) {
            sample.prediction = found->second.prediction;
            sample.bound_limiter = found->second.bound.limiter;
        }
    }
    return sample;
}

std::vector<DocsSample> samples_of(const ReceiptFile& file, const std::string& path) {
    std::vector<DocsSample> samples;
    std::map<std::string, PredictionRow> predictions;
    double copy = 0;
    for (const Json& row : file.rows) {
        const std::string kind = row.at("kind").get<std::string>();
        require(!row.at("git").at("dirty").get<bool>(), Status::invalid_argument,
                "{} has a row of uncommitted code (`dirty`), which counts for nothing", path);
        const std::size_t before = samples.size();
        if (kind == DeviceRow::kind) {
            copy = copy_ceiling(row);
        } else if (kind == PredictionRow::kind) {
            predictions[row.at("id").get<std::string>()] = row_from_json<PredictionRow>(row);
        } else if (kind == MeasurementRow::kind) {
            samples.push_back(sample_of<MeasurementRow>(row, path, predictions));
        } else if (kind == ComparisonRow::kind) {
            samples.push_back(sample_of<ComparisonRow>(row, path, predictions));
        } else if (kind == CheckRow::kind) {
            samples.push_back(sample_of<CheckRow>(row, path, predictions));
        }
        if (samples.size() > before) {
            samples.back().copy = copy;
        }
    }
    return samples;
}

// `wanted` is empty, or one of the values that an argument of a marker lists.
bool among(const std::string& wanted, const std::string& value) {
    if (wanted.empty()) {
        return true;
    }
    const std::vector<std::string> names = words_of(wanted);
    return std::find(names.begin(), names.end(), value) != names.end();
}

bool is_chosen(const DocsSample& sample, const DocsBlock& block) {
    const Workload& w = sample.workload;
    const Json& workload = sample.about.workload;
    return among(block.get("kernel"), sample.about.kernel) &&
           among(block.get("peer"), sample.peer ? sample.peer->name : "") &&
           among(block.get("dtype"), workload.at("dtype").get<std::string>()) &&
           among(block.get("mask"), workload.value("mask", "")) &&
           among(block.get("d"), std::to_string(w.headdim)) &&
           among(block.get("q"), std::to_string(w.seqlen_q));
}

// Of the content as it lies there, so that a file whose rows were written anew is refused too.
void require_committed(const std::string& root, const std::string& path) {
    const CommittedReceipts receipts(root);
    const auto line = std::ranges::find_if(receipts.manifest(),
                                           [&](const Json& one) { return one.at("path") == path; });
    require(line != receipts.manifest().end(), Status::invalid_argument,
            "{} is not in receipts/manifest.jsonl; figures are of committed receipts only", path);
    require(manifest_line(path, stored_text(root + "/" + path)) == *line, Status::corrupt,
            "{} is not as receipts/manifest.jsonl says: it was changed", path);
}

std::string join(const std::set<std::string>& parts, std::string_view between) {
    std::string text;
    for (const std::string& part : parts) {
        text += (text.empty() ? "" : std::string(between)) + part;
    }
    return text;
}

std::string age_of(const DocsSample& sample) {
    return sample.changed ? fmt::format("measured at {}, {}, the code has changed since",
                                        sample.commit, sample.date)
                          : fmt::format("{}, {}", sample.commit, sample.date);
}

// One value for all, or an error that says which there are.
template <class Get>
std::string only(std::span<const DocsSample> samples, const char* what, Get get) {
    std::set<std::string> all;
    for (const DocsSample& sample : samples) {
        all.insert(get(sample));
    }
    require(all.size() == 1, Status::invalid_argument,
            "rows of more than one {} in one table: {}; they are not to be compared", what,
            join(all, ", "));
    return *all.begin();
}

}  // namespace

bool DocsSample::settled() const {
    return measured && !measured->unsettled && !(peer && peer->measurement.unsettled);
}

DocsEvidence::DocsEvidence(std::string root) : root_(std::move(root)) {
    const std::string path = root_ + "/" + evidence_file;
    std::ifstream in(path);
    require(in.good(), Status::io,
            "cannot read {}, which names the receipts behind README.md and docs/; run this in the "
            "root of the tree",
            evidence_file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Json names = parse_json(text, evidence_file);
    for (const auto& [name, file] : names.items()) {
        require(file.is_string(), Status::corrupt, "{}: '{}' must be the path of a receipt file",
                evidence_file, name);
        files_[name] = file.get<std::string>();
    }
}

const std::vector<DocsSample>& DocsEvidence::file(const std::string& name) {
    const auto known = read_.find(name);
    if (known != read_.end()) {
        return known->second;
    }
    const auto found = files_.find(name);
    require(found != files_.end(), Status::invalid_argument,
            "'{}' is not in {}; add it there with the path of its receipt file", name,
            evidence_file);
    const std::string& path = found->second;
    require_committed(root_, path);
    const ReceiptFile file = read_receipts(root_ + "/" + path);
    const std::vector<BadLine> findings = check_receipts(file);
    require(findings.empty(), Status::corrupt, "{}: line {}: {}", path,
            findings.empty() ? 0 : findings.front().line,
            findings.empty() ? "" : findings.front().reason);
    return read_[name] = samples_of(file, path);
}

std::vector<DocsSample> DocsEvidence::samples(const DocsBlock& block, const std::string& source) {
    std::vector<DocsSample> chosen;
    for (const std::string& name : words_of(block.at(source))) {
        const std::vector<DocsSample>& all = file(name);
        const std::size_t before = chosen.size();
        std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                     [&](const DocsSample& sample) { return is_chosen(sample, block); });
        require(chosen.size() > before, Status::invalid_argument,
                "{} has no row that this block asks for", files_.at(name));
    }
    return chosen;
}

std::string docs_heading(std::span<const DocsSample> samples) {
    const std::string device =
        only(samples, "device", [](const DocsSample& s) { return s.about.device.name; });
    const std::string regime =
        only(samples, "regime", [](const DocsSample& s) { return s.regime; });
    const std::string spread =
        only(samples, "spread of logits", [](const DocsSample& s) { return s.spread; });
    std::set<std::string> suites, files, dates;
    for (const DocsSample& sample : samples) {
        if (!sample.about.suite.empty()) {
            suites.insert("`" + sample.about.suite + "`");
        }
        files.insert("`" + sample.file + "`");
        dates.insert(age_of(sample));
    }
    return fmt::format("*{}{}{}; {}; {}; {}.*", device,
                       suites.empty() ? "" : ", " + join(suites, ", "),
                       spread == "1" ? "" : ", logits of standard deviation " + spread,
                       join(dates, " and "), regime_text(regime), join(files, ", "));
}

std::string docs_age(std::span<const DocsSample> samples) {
    std::set<std::string> changed;
    for (const DocsSample& sample : samples) {
        if (sample.changed) {
            changed.insert(age_of(sample));
        }
    }
    return join(changed, " and ");
}

}  // namespace raceline
