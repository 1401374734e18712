// SPDX-License-Identifier: Apache-2.0
// The gate of operations other than attention, by what their records say. Bounds and verdicts are
// those of verdict.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/verdict.hpp"
#include "workload/operation.hpp"

namespace raceline {

/// One draw of a workload's inputs, its float64 answer, and references rounded as each precision
/// asks, which all tiles and kernels judged on it share. Rows of outputs are all checked where
/// float64 can afford it, else a seeded sample with the first and the last. Not for several
/// threads.
class OperationAnswers {
public:
    /// The workload must outlive it.
    OperationAnswers(const Workload& workload, std::uint64_t seed, Draw draw);
    /// Of inputs that somebody else has made; their draw is taken to be as `inputs` says.
    OperationAnswers(const Workload& workload, OperationData inputs);

    [[nodiscard]] const Workload& workload() const { return workload_; }
    [[nodiscard]] const OperationData& inputs() const { return inputs_; }

    /// Judges what a kernel left in the output tensors, one span each in the order of the record.
    /// Every element must have been written: poison left anywhere fails, on unchecked rows too.
    /// Of Draw::non_finite only the set of outputs that are finite is judged.
    Correctness judge(const Precision& precision,
                      std::span<const std::span<const std::byte>> outputs);

    /// A right answer, rounded as the precision says, stored as a kernel would leave it.
    [[nodiscard]] StoredOutputs right_outputs(const Precision& precision) const;

private:
    struct Output {
        std::size_t tensor;              ///< among those of the record
        std::vector<std::int64_t> rows;  ///< that are checked
        std::vector<double> exact;       ///< (rows, width)
        std::vector<std::pair<Precision, Reference>> references;
        std::vector<std::vector<double>> others;  ///< of few elements: answers to other inputs
        /// No row is measured against less: the median of the rows' scales with other inputs.
        double least_scale = 0;
    };
    Correctness judge_output(Output& output, const Precision& precision,
                             std::span<const std::byte> stored);
    [[nodiscard]] std::string compare_finite(const Output& output, const Precision& precision,
                                             std::span<const std::byte> stored) const;
    [[nodiscard]] OperationData other_inputs(std::int64_t number) const;
    void draw_others(Output& output) const;
    const Reference& reference(Output& output, const Precision& precision);
    [[nodiscard]] const TensorSpec& spec(const Output& output) const {
        return inputs_.tensors[output.tensor];
    }

    const Workload& workload_;
    const OperationRecord& operation_;
    OperationData inputs_;
    std::vector<Output> outputs_;
};

}  // namespace raceline
