// SPDX-License-Identifier: Apache-2.0
// Parts of a page's data, each one JSON value of plain numbers and text. Members are named where
// they are written; a row is named by its place, [file, line].
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "page/receipt_text.hpp"
#include "receipt/past_measurement.hpp"
#include "registry/kernel.hpp"
#include "report/scorecard.hpp"
#include "report/timed_rows.hpp"
#include "support/build_info.hpp"
#include "support/json.hpp"

namespace raceline {

/// Devices of rows: one that this build does not have itself as a row states it, else by what is
/// committed of it.
class KnownDevices {
public:
    explicit KnownDevices(const TimedRows& rows) : rows_(rows) {}
    /// By its label, of several statements by the last one, else by its name. Nothing if nobody
    /// knows it.
    const Device* of(const std::string& label, const DeviceName& name);
    /// The one that the prediction of a case rests on, else by its name.
    const Device* of(const TimedCase& one);

private:
    const TimedRows& rows_;
    std::map<std::string, std::optional<Device>> known_;  // by label
};

/// Devices of timed cases and of ceilings, by label.
std::map<std::string, DeviceName> devices_of(const TimedRows& rows);

/// What ran a case, as this build has it.
struct KernelOfToday {
    const Kernel* kernel;
    int tile;
};
/// Nothing where kernel or tile have left, or where they do not take the case any more.
std::optional<KernelOfToday> kernel_of_today(const TimedCase& one, const Device& device);

/// A number for each of some texts, in the order in which they come: long ones that stand in
/// several parts of a page are in it once.
class NumberedTexts {
public:
    std::size_t of(const std::string& text);
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

private:
    std::map<std::string, std::size_t> numbers_;
    std::vector<std::string> texts_;
};

/// Objects as columns, {member: [its value in each]}, which take a fifth less when compressed. A
/// value of `no_member` says that the object has no such member.
Json in_columns(const Json& objects);
inline constexpr const char* no_member = "~";

/// Timed cases with predictions, in columns. `same` is a number that cases share which are one but
/// for their tile (report/receipt_diff.hpp); `shape`, `tile` and `way` are numbers in
/// `texts`.
Json cases_json(const TimedRows& rows, const ReceiptText& text, const Scorecard& card,
                KnownDevices& devices, NumberedTexts& texts);
/// To so many digits, six of which are more than anybody measures; null where it is none above 0.
Json short_number(double value, int digits = 6);
/// The rows behind the scorecard's figures, those too of which only the index is there, by column:
/// {group, shape, tile, measured, predicted, expected, uncalibrated, datasheet_roofline,
/// measured_roofline, roofline_and_launch_floor, limiter, counted, written, place, texts, left}.
/// `group` counts the scorecard's groups; `shape`, `tile`, `limiter` and `counted` are numbers in
/// `texts`, of which the row's own `texts` are those that were not there before. `place` is [file,
/// line] of a row of the page, else a number in `left`, which names the files that left the tree;
/// of these rows `written` is whole, since it finds them there. Times are seconds, null where there
/// is none.
Json scored_json(const Scorecard& card, const ReceiptText& text, NumberedTexts& texts);
/// By path of a file that left the tree: [a commit that has it, its SHA-256].
Json left_files_json(std::span<const PastFile> left);
/// Peers beside ours; `look` is the number of the peer's look (plot/peer_looks.hpp).
Json peers_json(const TimedRows& rows, const ReceiptText& text);
/// By device label: {"memory": [[name, resource, rate, measured]], "engines": likewise, "sets":
/// Roofs::sets, "unstated": Roofs::unstated}.
Json roofs_json(const TimedRows& rows);
/// [{name, title, reference, devices: {label: [{rung, changes, evidence, lesson, lines, verdict,
/// shown}]}}], with the code in [{path, text}] by rung.
Json ladder_json(std::span<const Json> rows, std::span<const PastFile> left,
                 const ReceiptText& text, std::span<const build_info::EmbeddedFile> sources);
/// Ceilings of each device that the rows are of, those that the rows measured beside those of this
/// build where they differ, and the constants of each kernel there.
Json provenance_json(const TimedRows& rows, const ReceiptText& text, KnownDevices& devices);
/// What the what-if panel starts from: devices, those of which the rows have a state or ceilings
/// among them, where a rate comes from by its source, kernels and the shapes of the suites. `own`
/// names the devices of the rows.
Json what_if_json(const TimedRows& rows, KnownDevices& known);
/// What decides whether a change is one (receipt_diff.hpp): {no_effect, tolerance}.
Json diff_json();

}  // namespace raceline
