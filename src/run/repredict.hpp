// SPDX-License-Identifier: Apache-2.0
// A prediction that a receipt holds, computed again by this program.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "receipt/rows.hpp"
#include "support/json.hpp"

namespace raceline {

/// Takes the rows of one file in their order.
class Repredictor {
public:
    enum class Outcome {
        same,         ///< bit for bit
        differs,      ///< `why` says in what
        other_model,  ///< of another model or kernel: the program of its commit could
        no_rates      ///< neither the file nor this program has the rates that it used
    };
    struct Answer {
        Outcome outcome = Outcome::same;
        std::string why;  ///< a clause, empty for same
    };

    /// A `device` row with a state: predictions after it that name its rates are of it.
    void take_device(const Json& row);

    /// What a prediction row says of its rates that the rows before it contradict, as a clause: in
    /// one program run a device has the rates that its `device` row describes, or, without one,
    /// those of its first prediction, until another row describes others. Committed rates need no
    /// such row. Empty: nothing. Each prediction row is to be asked for once, in the file's order.
    std::string rates_fault(const Json& row);

    /// What was written beside what another program predicts for the same case. A member that
    /// either lacks is a difference, too.
    static Answer compare(const Prediction& written, const Prediction& now);

    /// Whether a row says that a program of this commit wrote it, from a tree without changes.
    static bool is_of(const Json& row, std::string_view commit);

    /// `model_hash` of a row that says that a program of this commit wrote it, beside that
    /// program's own: a clause, empty if they agree. `own` is empty if that program has no such
    /// kernel.
    static std::string model_fault(const PredictionRow& row, const std::string& own);

    /// Everything but the expected time and the band: those are of the receipts that were committed
    /// at the time.
    [[nodiscard]] Answer again(const PredictionRow& row) const;
    /// The same of a whole row. `commit` is this program's, empty if its tree had uncommitted
    /// changes: a row that says that this very program wrote it must be of its model, else it
    /// differs.
    [[nodiscard]] Answer again(const Json& row, std::string_view commit) const;

private:
    [[nodiscard]] Answer device_of(const PredictionRow& row, Device& device) const;
    std::map<std::string, Json> states_;      ///< the last of each device and rates_id
    std::map<std::string, std::string> now_;  ///< rates_id, by program run and device
};

}  // namespace raceline
