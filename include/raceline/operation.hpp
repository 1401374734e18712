// SPDX-License-Identifier: Apache-2.0
// Operations other than attention: norms, softmax, elementwise chains, Adam, products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "raceline/dtype.hpp"
#include "raceline/raceline.hpp"

namespace raceline {

/// A contiguous (rows, width) tensor that an operation reads or writes.
struct OperationTensorInfo {
    std::string name;
    DType dtype = DType::fp32;
    bool indices = false;  ///< the elements are int32, whatever dtype says
    bool output = false;
    std::int64_t rows = 0, width = 0;  ///< 0 rows: this shape does not use the tensor

    [[nodiscard]] std::size_t bytes() const;
};

/// An operation of one shape, with the kernel that runs it. The kernel is chosen once, and the
/// operation can then run many times. Safe to use from several threads.
class Operation {
public:
    /// `shape`: in the grammar of the command line, such as "op=rmsnorm,n=8192x4096,dtype=bf16"
    /// (docs/operations.md). `backend`: the name of a kernel; empty: the model chooses. `threads`:
    /// CPU threads; 0: all. Throws Error(invalid_argument) for an invalid shape, and for attention,
    /// which has its own functions; Error(unsupported), with the reason of each kernel, if none can
    /// run it; and Error(no_device).
    Operation(const std::string& shape, Place place, const std::string& backend = {},
              int threads = 0);
    ~Operation();
    Operation(Operation&&) noexcept;
    Operation& operator=(Operation&&) noexcept;

    /// The tensors whose addresses `run` takes, in this order.
    [[nodiscard]] const std::vector<OperationTensorInfo>& tensors() const;
    [[nodiscard]] std::string_view kernel() const;
    [[nodiscard]] std::size_t workspace_bytes() const;

    /// `addresses`: one for each tensor, on the device of the place; null for a tensor without
    /// rows. Outputs must not overlap any other tensor. On a GPU the work is enqueued on the
    /// stream, and the call returns at once. Throws Error(invalid_argument) before anything is
    /// written. Indices are not checked: one that is out of range reads memory outside the tensor.
    void run(std::span<void* const> addresses, const Execution& execution) const;

    /// Checks outputs, whoever computed them, against float64. All tensors are in host memory.
    /// Returns "" if the outputs are right up to the rounding that the kernel declares, and the
    /// reason otherwise. `seed` selects the rows of a large output to compare. `relative_rms` and
    /// `bound`, if given, receive the largest error and its limit.
    [[nodiscard]] std::string check(std::span<const void* const> addresses, std::uint64_t seed,
                                    double* relative_rms = nullptr, double* bound = nullptr) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace raceline
