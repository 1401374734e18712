// SPDX-License-Identifier: Apache-2.0
#include "run/gate.hpp"

#include <limits>

#include "run/poison.hpp"
#include "run/row_errors.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

void require_sizes(const Workload& w, const PackedOutputs& outputs) {
    const auto rows = static_cast<std::size_t>(w.tokens_q() * w.heads_q);
    const std::size_t bytes =
        rows * w.headdim_v * static_cast<std::size_t>(bytes_of(w.out_dtype()));
    require(outputs.out.size() == bytes, Status::invalid_argument,
            "the output has {} bytes, not {}", outputs.out.size(), bytes);
    require(outputs.lse.empty() || outputs.lse.size() == rows, Status::invalid_argument,
            "the LSE has {} elements, not {}", outputs.lse.size(), rows);
}

}  // namespace

Correctness judge(GateAnswers& answers, const Precision& precision, std::span<const std::byte> out,
                  std::span<const float> lse) {
    const PackedOutputs outputs{out, lse};
    require_sizes(answers.workload(), outputs);
    if (answers.draw() == Draw::non_finite) {
        Correctness verdict = verdict_of_values(compare_finite(answers, outputs), 0);
        verdict.cases = std::ssize(answers.rows());
        return verdict;
    }
    if (std::string why = find_poison(answers.workload(), out, lse); !why.empty()) {
        return verdict_of_values(std::move(why), nothing);
    }
    return decide(compare_rows(answers, outputs), answers.reference(precision), precision,
                  !lse.empty());
}

Correctness judge(const Workload& workload, const Inputs& inputs, const Precision& precision,
                  std::span<const std::byte> out, std::span<const float> lse, std::uint64_t seed,
                  Draw draw) {
    GateAnswers answers(workload, inputs, seed, draw);
    return judge(answers, precision, out, lse);
}

}  // namespace raceline
