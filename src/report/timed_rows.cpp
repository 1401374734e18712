// SPDX-License-Identifier: Apache-2.0
#include "report/timed_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "receipt/stored_text.hpp"
#include "registry/registry.hpp"
#include "report/first_sight.hpp"
#include "report/machines.hpp"
#include "report/sound_rows.hpp"
#include "report/stale.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// What stands in no picture.
struct LeftOutCount {
    int unsettled = 0, unsettled_compared = 0, refused = 0, unpredicted = 0, stale = 0, broken = 0,
        copies = 0;
};

std::string note_of(int count, std::string_view what) {
    return fmt::format("{} {}", counted_text(static_cast<std::size_t>(count), "row"), what);
}

std::string commit_of(const Json& row) {
    return row.at("git").at("commit").get<std::string>();
}

class Reader {
public:
    void add(std::vector<Json> rows) {
        for (Json& row : rows) {
            // What stands in two files was measured once.
            if (!ids_.insert(row.at("id").get<std::string>()).second) {
                ++left_out_.copies;
                continue;
            }
            try {
                add(row);
                all_.rows.push_back(std::move(row));
            } catch (const Error&) {
                ++left_out_.broken;  // a case that this build does not understand
            }
        }
    }
    void add_note(std::string note) { all_.notes.push_back(std::move(note)); }

    TimedRows finish() {
        const auto note = [&](int count, std::string_view what) {
            if (count > 0) {
                all_.notes.push_back(note_of(count, what));
            }
        };
        note(left_out_.broken, "left out: not understood by this build");
        note(left_out_.copies, counted_once);
        note(left_out_.refused, "left out: the gate refused the kernel");
        note(left_out_.unsettled, "left out: a measurement of a kernel alone that is not settled");
        note(left_out_.unsettled_compared,
             "left out: a comparison in which ours or the peer's time is not settled");
        note(left_out_.unpredicted, "without a prediction");
        note(left_out_.stale, stale_note);
        name_machines(all_, machines_of({&all_}));
        return std::move(all_);
    }

private:
    void add(const Json& row) {
        const auto kind = row.at("kind").get<std::string>();
        if (kind == PredictionRow::kind) {
            predictions_[row.at("id").get<std::string>()] = row_from_json<PredictionRow>(row);
        } else if (kind == MeasurementRow::kind) {
            const auto measured = row_from_json<MeasurementRow>(row);
            if (!measured.measurement || !measured.correctness.passed) {
                ++left_out_.refused;
            } else {
                add_case(row, measured.about, *measured.measurement, measured.prediction_id);
            }
        } else if (kind == ComparisonRow::kind) {
            add_comparison(row);
        } else if (kind == CeilingRow::kind) {
            const auto ceiling = row_from_json<CeilingRow>(row);
            all_.ceilings[device_label(row.at("device"))][ceiling.ceiling.resource] =
                ceiling.ceiling.value;
        } else if (kind == DeviceRow::kind && row.contains("state")) {
            add_state(row);
        }
    }

    // Of those that this build has, rows know the rates as they were when they were written, and
    // the build has those of today.
    void add_state(const Json& row) {
        static const std::vector<std::string> of_this_build = device_ids();
        const std::string label = device_label(row.at("device"));
        if (std::ranges::find(of_this_build, label) != of_this_build.end()) {
            return;
        }
        StatedDevice stated{.device = {},
                            .id = row.at("id").get<std::string>(),
                            .written = row.at("written").get<std::string>()};
        try {
            stated.device = device_state_from_json(row.at("state"));
        } catch (const Error&) {
            return;  // of an older release, whose states had other fields
        }
        auto& known = all_.stated[label];
        const auto found = known.find(stated.device.rates_id);
        if (found == known.end() || found->second.written <= stated.written) {
            known.insert_or_assign(stated.device.rates_id, std::move(stated));
        }
    }

    void add_case(const Json& row, const RowCase& about, const Measurement& measured,
                  const std::string& prediction_id, bool interleaved = false) {
        if (measured.unsettled || !(measured.seconds_median > 0)) {
            left_out_.unsettled += interleaved ? 0 : 1;  // a comparison is counted as one
            return;
        }
        TimedCase one;
        one.about = about;
        one.workload = workload_from_json(about.workload);
        one.shape = format_shape(one.workload);
        one.device = device_label(row.at("device"));
        const Kernel* kernel = kernel_once_called(about.kernel);
        one.kernel = kernel == nullptr ? about.kernel : std::string(kernel->name);
        one.commit = commit_of(row).substr(0, 12);
        one.written = row.at("written").get<std::string>();
        one.id = row.at("id").get<std::string>();
        one.prediction_id = prediction_id;
        one.measured = measured;
        one.interleaved = interleaved;
        one.stale = code_has_changed_since(row);
        left_out_.stale += one.stale ? 1 : 0;
        const auto found = predictions_.find(prediction_id);
        if (found == predictions_.end()) {
            ++left_out_.unpredicted;
        } else {
            one.predicted = found->second.prediction;
            one.bound = found->second.bound;
        }
        all_.cases.push_back(std::move(one));
    }

    void add_comparison(const Json& row) {
        const auto compared = row_from_json<ComparisonRow>(row);
        if (compared.correctness && !compared.correctness->passed) {
            ++left_out_.refused;
            return;
        }
        // Ours stands in a row for each peer: its first one counts.
        const std::string ours = case_key(row) + compared.about.device.id + compared.prediction_id;
        if (ours_.insert(ours).second) {
            add_case(row, compared.about, compared.measurement, compared.prediction_id, true);
        }
        if (compared.measurement.unsettled || compared.peer.measurement.unsettled) {
            ++left_out_.unsettled_compared;
            return;
        }
        const Kernel* kernel = kernel_once_called(compared.about.kernel);
        const auto predicted = predictions_.find(compared.prediction_id);
        all_.peers.push_back(
            {.device = device_label(row.at("device")),
             .kernel = kernel == nullptr ? compared.about.kernel : std::string(kernel->name),
             .shape = format_shape(workload_from_json(compared.about.workload)),
             .peer = compared.peer.name,
             .form = compared.peer.backend,
             .ratio = compared.ratio,
             .ratio_low = compared.ratio_low,
             .ratio_high = compared.ratio_high,
             .commit = commit_of(row).substr(0, 12),
             .written = row.at("written").get<std::string>(),
             .stale = code_has_changed_since(row),
             .id = row.at("id").get<std::string>(),
             .rates_id =
                 predicted == predictions_.end() ? "" : predicted->second.prediction.rates_id});
    }

    TimedRows all_;
    LeftOutCount left_out_;
    std::map<std::string, PredictionRow> predictions_;  // by id
    std::set<std::string> ours_;
    std::set<std::string> ids_;  // of all rows so far
};

// What of a file counts for nothing, each with its lines.
void add_notes(Reader& reader, const std::string& path, const SoundRows& file) {
    if (!file.broken.empty()) {
        reader.add_note(fmt::format("{}: {} left out, the first is line {}: {}", path,
                                    counted_text(file.broken.size(), "broken line"),
                                    file.broken.front().line, file.broken.front().reason));
    }
    if (!file.changed.empty()) {
        reader.add_note(fmt::format("{}: {}", path, changed_rows_text(file.changed)));
    }
    if (file.unfinished) {
        reader.add_note(fmt::format("{}: its last line is unfinished and left out", path));
    }
}

// The rows of a file, of which none is known if its compressed data were cut off or damaged: the
// note then says so, and others are not kept from theirs.
SoundRows rows_or_note(Reader& reader, const std::string& path) {
    try {
        return sound_rows_of(read_receipts(path));
    } catch (const Error& error) {
        if (error.status() != Status::corrupt) {
            throw;
        }
        reader.add_note(error.what());
        return {};
    }
}

// Leaves what one commit measured; what is broken cannot say whose it was, and is named anyway.
void keep_commit(SoundRows& file, const std::string& commit) {
    std::erase_if(file.rows, [&](const Json& row) { return !commit_of(row).starts_with(commit); });
    std::vector<BadLine> changed;
    for (std::size_t i = 0; i < file.changed.size(); ++i) {
        if (commit_of(file.changed_rows[i]).starts_with(commit)) {
            changed.push_back(std::move(file.changed[i]));
        }
    }
    file.changed = std::move(changed);
}

}  // namespace

TimedRows read_timed_rows(const std::vector<std::string>& files) {
    Reader reader;
    std::set<std::filesystem::path> known;
    for (const std::string& path : files) {
        std::error_code none;
        if (!known.insert(std::filesystem::weakly_canonical(path, none)).second) {
            continue;  // named twice
        }
        SoundRows file = sound_rows_of(read_receipts(path));
        add_notes(reader, path, file);
        if (file.rows.empty()) {
            reader.add_note(
                fmt::format("{}: no {}rows", path, file.changed.empty() ? "" : "sound "));
        }
        reader.add(std::move(file.rows));
    }
    return reader.finish();
}

TimedRows timed_rows_of(std::vector<Json> rows) {
    Reader reader;
    reader.add(std::move(rows));
    return reader.finish();
}

TimedRows timed_rows_of_commit(const std::string& receipts, const std::string& commit) {
    namespace fs = std::filesystem;
    require(fs::is_directory(receipts), Status::io,
            "{}: no such folder; rows of a commit are looked for in receipts/ of a source tree: "
            "run it in the tree's root, or name receipt files",
            receipts);
    std::set<std::string> commits;
    Reader reader;
    std::size_t found = 0;
    for (const std::string& path : stored_receipts(receipts)) {
        SoundRows file = rows_or_note(reader, path);
        for (const Json& row : file.rows) {
            commits.insert(commit_of(row).substr(0, 12));
        }
        keep_commit(file, commit);
        add_notes(reader, path, file);
        found += file.rows.size();
        reader.add(std::move(file.rows));
    }
    require(found > 0, Status::invalid_argument,
            "no row in {} was measured at commit {}; there are rows of {}", receipts, commit,
            fmt::join(commits, ", "));
    return reader.finish();
}

const Device* stated_device_of(const TimedRows& rows, const TimedCase& one) {
    const auto states = rows.stated.find(one.device);
    if (states == rows.stated.end() || !one.predicted) {
        return nullptr;
    }
    const auto found = states->second.find(one.predicted->rates_id);
    return found == states->second.end() ? nullptr : &found->second.device;
}

const StatedDevice* last_stated(const TimedRows& rows, const std::string& device) {
    const auto states = rows.stated.find(device);
    if (states == rows.stated.end()) {
        return nullptr;
    }
    const auto last = std::ranges::max_element(
        states->second, {}, [](const auto& one) -> const auto& { return one.second.written; });
    return &last->second;
}

std::string way_of(const TimedCase& one) {
    const LaunchCase& launch = one.about.launch;
    return fmt::format("{}, {}, {}{}", launch.cold ? "cold" : "warm", launch.launch_path,
                       one.interleaved ? "in turns with a peer" : launch.regime,
                       launch.threads > 0
                           ? ", " + counted_text(static_cast<std::size_t>(launch.threads), "thread")
                           : "");
}

std::string tile_fields(const Json& tile) {
    std::string text;
    for (const auto& [name, value] : tile.items()) {
        text += (text.empty() ? "" : ",") + name + "=" + value.dump();
    }
    return text;
}

}  // namespace raceline
