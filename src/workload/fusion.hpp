// SPDX-License-Identifier: Apache-2.0
// A chain of operations as one kernel would run it, and as one kernel a step would.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workload/workload.hpp"

namespace raceline {

/// One step by itself, which reads and writes whole tensors.
struct FusionPart {
    std::string name;                  ///< "rmsnorm", "linear", "scores"
    std::optional<Workload> workload;  ///< none: it is counted, but no kernel of ours runs it alone
    double flops = 0;
    double bytes_read = 0, bytes_written = 0;
    bool matrix_products = false;
};

struct Fusion {
    Workload fused;
    std::vector<FusionPart> parts;
    /// Of attention: bytes of the score matrix, which a last-level cache may hold between parts;
    /// each part's bytes hold what it reads and writes of it. 0: of other chains.
    double scores = 0;

    [[nodiscard]] double flops() const;  ///< of all parts
    [[nodiscard]] double bytes_before() const;
    [[nodiscard]] double bytes_after() const;
};

/// Of a chain of two steps or more, or of attention (scores, softmax, product with V; under a mask
/// the scores are computed in full, as a framework without a fused kernel does). Throws
/// Error(invalid_argument) for a problem of one step.
Fusion fusion_of(const Workload& workload);

}  // namespace raceline
