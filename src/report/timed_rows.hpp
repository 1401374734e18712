// SPDX-License-Identifier: Apache-2.0
// Rows of receipts as pictures and `raceline diff` need them: predictions joined with what was
// measured.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "receipt/file.hpp"
#include "receipt/rows.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// One timed case: of a measurement row, or our side of a comparison, in which contenders took
/// turns.
struct TimedCase {
    RowCase about;
    Workload workload;
    /// Its id, with its name where the id stands for many, and what tells machines of one name
    /// apart (machines.hpp) where there are several.
    std::string device;
    std::string shape;              ///< canonical text of the workload
    std::string kernel;             ///< as it is called now
    std::string commit;             ///< first 12 hex digits of the commit that it was measured at
    std::string written;            ///< UTC, RFC 3339
    std::string id, prediction_id;  ///< of its rows; the second may be empty
    Measurement measured;
    std::optional<Prediction> predicted;  ///< none: the file lacks it
    SpeedOfLight bound;                   ///< of the problem; seconds 0: its row has none
    bool stale = false;                   ///< the kernel has changed since
    bool interleaved = false;             ///< of a comparison
};

/// A peer beside one of our kernels.
struct TimedPeer {
    std::string device, kernel, shape, peer;
    std::string form;  ///< how the peer was called; "" where there is one way
    double ratio = 0, ratio_low = 0, ratio_high = 0;  ///< peer's time / ours
    std::string commit, written;                      ///< as in TimedCase
    bool stale = false;                               ///< our kernel has changed since
    std::string id;                                   ///< of its row
    std::string rates_id;  ///< what our prediction rests on; "" without one
};

/// A device as a row of its own has it, with the rates that predictions beside it rest on.
struct StatedDevice {
    Device device;
    std::string id, written;  ///< of the row
};

/// What the note on stale rows says of them, behind their number.
inline constexpr std::string_view stale_note = "stale: the kernel has changed since";

/// All of some files. Unsettled and refused times are in neither list, but are counted in `notes`.
struct TimedRows {
    std::vector<TimedCase> cases;
    std::vector<TimedPeer> peers;
    /// Ceilings that the files hold, by device (as in TimedCase) and resource.
    std::map<std::string, std::map<std::string, double>> ceilings;
    /// By device (as in TimedCase) what rows say of those that this build does not have itself, as
    /// a CPU: of each set of rates, by its rates_id, the row that was written last.
    std::map<std::string, std::map<std::string, StatedDevice>> stated;
    std::vector<Json> rows;  ///< all of them, as the ladder's report reads them
    /// Sentences on what is missing: broken lines, what counts for nothing, stale rows.
    std::vector<std::string> notes;
};

/// Reads receipt files. Lines that are no rows and rows that are not as they were written
/// (sound_rows.hpp) become notes; the rest is kept. A file that is named twice, and a row that
/// stands in two of them, count once. Throws Error(io) for a file that cannot be opened.
TimedRows read_timed_rows(const std::vector<std::string>& files);

/// The same of rows in memory.
TimedRows timed_rows_of(std::vector<Json> rows);

/// The rows of all device folders under `receipts` that were measured at a commit, of which
/// `commit` is the beginning in hex digits, with the same notes. Throws Error(invalid_argument)
/// that lists the commits there are where none of them was, or Error(io) where the folder cannot be
/// read.
TimedRows timed_rows_of_commit(const std::string& receipts, const std::string& commit);

/// Commits that the rows of all device folders under `receipts` were measured at, in twelve hex
/// digits, the one that was measured last first. None where there is no such folder.
std::vector<std::string> commits_in(const std::string& receipts);

/// The device that the prediction of a case rests on, where a row says all of it.
const Device* stated_device_of(const TimedRows& rows, const TimedCase& one);
/// Of several that rows state of a device the one that was written last.
const StatedDevice* last_stated(const TimedRows& rows, const std::string& device);

/// "cold, graph, sustained": how a case was launched, and in which regime. Times of two ways do not
/// compare.
std::string way_of(const TimedCase& one);

/// "rows=64,keys=128": the fields of a tile.
std::string tile_fields(const Json& tile);

}  // namespace raceline
