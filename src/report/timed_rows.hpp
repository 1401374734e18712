// SPDX-License-Identifier: Apache-2.0
// Rows of receipts as pictures and `raceline diff` need them: predictions joined with what was
// measured.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "receipt/file.hpp"
#include "receipt/rows.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// One timed case: of a measurement row, or our side of a comparison, in which contenders took
/// turns.
struct TimedCase {
    RowCase about;
    Workload workload;
    std::string device;             ///< its id, with its name where the id stands for many
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
};

/// All of some files. Unsettled and refused times are in neither list, but are counted in `notes`.
struct TimedRows {
    std::vector<TimedCase> cases;
    std::vector<TimedPeer> peers;
    /// Ceilings that the files hold, by device (as in TimedCase) and resource.
    std::map<std::string, std::map<std::string, double>> ceilings;
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

/// "rows=64,keys=128": the fields of a tile.
std::string tile_fields(const Json& tile);

}  // namespace raceline
