// SPDX-License-Identifier: Apache-2.0
// The one place where a case is predicted, proven, measured and written down.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/constant.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "run/backend.hpp"

namespace raceline {

struct Case {
    std::string suite;  ///< empty: from --shape
    const Kernel* kernel = nullptr;
    int tile = 0;
    Workload workload;
    CaseOptions options;
};

/// Rows go to the writer if there is one, and to `emit` if given, in the same form.
struct RowSink {
    const RowContext* context = nullptr;
    ReceiptWriter* writer = nullptr;
    std::function<void(const Json& row)> emit;
    /// Whether a kernel that does not serve a shape leaves a row. Where nobody named it, as in a
    /// run of all kernels, it says nothing that the kernel's record does not.
    bool refusals = true;
    Json put(std::string_view kind, std::string_view source_hash, const Json& content) const;
    template <class Row>
    Json put(std::string_view source_hash, const Row& row) const {
        return put(Row::kind, source_hash, row_to_json(row));
    }

    /// Before a prediction for `device`: a `device` row with all that the model reads of it, if the
    /// tree does not have that and it is not what was last described. A prediction can then be
    /// computed again from the file alone.
    void describe(const Device& device) const;
    mutable std::string described = {};  ///< the last that was, as text
};

/// A prediction and what it rests on: constants in the order of their use, the bound of its
/// problem, and for each resource that its launches ask for where the rate comes from.
struct ExplainedPrediction {
    Prediction prediction;
    std::vector<Constant> constants;
    SpeedOfLight bound;
    std::map<std::string, std::string> rates;
};

struct CaseResult {
    std::optional<ExplainedPrediction> explained;
    std::optional<Correctness> correctness;
    std::optional<Measurement> measurement;
    std::string refusal;  ///< why nothing ran, if nothing did
    [[nodiscard]] bool failed() const { return correctness && !correctness->passed; }
};

/// Of src/model and of the kernel's counts, which together make a prediction.
std::string model_hash_of(const Kernel& kernel);

/// With all constants of the model, or with what a probe, a manual or the code says in the place of
/// each that was calibrated, and no committed errors taken out.
enum class Calibration { used, left_out };

/// The model's answer for one case, with the hash of model and kernel filled in, and what past
/// errors of this kernel on this device say of it: the expected time, and a band, which contains
/// it. A prediction without calibrated constants has neither: those errors are of another model.
/// Its `calibrated` says `left_out`. Writes nothing.
Prediction predict_case(const Case& which, const Device& device,
                        Calibration calibration = Calibration::used);
ExplainedPrediction explain_case(const Case& which, const Device& device,
                                 Calibration calibration = Calibration::used);

/// prediction row, then gate, then measurement row. A case that the kernel does not support leaves
/// a refusal row with the reason; a failed gate leaves its row without a time.
CaseResult run_case(const Case& which, Backend& backend, const RowSink& sink);

/// Only the gate, as a `check` row.
CaseResult check_case(const Case& which, Backend& backend, const RowSink& sink);

/// "committed", "datasheet x h200 + datasheet": the kinds of rates that a prediction rests on.
std::string origins_text(const std::map<std::string, std::string>& rates);

PredictionRow prediction_row(const Case& which, const Device& device,
                             const ExplainedPrediction& explained);
/// Of the case's problem, whatever its kernel.
BoundRow bound_row(const Case& which, const Device& device);

/// What every row about it says it is about.
RowCase row_case(const Case& which, const Device& device);
DeviceName device_name(const Device& device);

}  // namespace raceline
