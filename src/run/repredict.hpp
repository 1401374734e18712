// SPDX-License-Identifier: Apache-2.0
// A prediction that a receipt holds, computed again by this program.
#pragma once

#include <map>
#include <string>

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

    /// What was written beside what another program predicts for the same case.
    static Answer compare(const Prediction& written, const Prediction& now);

    /// Everything but the expected time and the band: those are of the receipts that were committed
    /// at the time.
    [[nodiscard]] Answer again(const PredictionRow& row) const;

private:
    [[nodiscard]] Answer device_of(const PredictionRow& row, Device& device) const;
    std::map<std::string, Json> states_;  ///< the last of each device and rates_id
};

}  // namespace raceline
