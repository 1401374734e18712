// SPDX-License-Identifier: Apache-2.0
// Operations beside attention: norms, softmax, elementwise chains, Adam, products.
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
    bool indices = false;  ///< int32 in the place of dtype
    bool output = false;
    std::int64_t rows = 0, width = 0;  ///< 0 rows: this shape has no such tensor

    [[nodiscard]] std::size_t bytes() const;
};

/// An operation of one shape, with the kernel that runs it: decided once, run many times. Safe to
/// use from several threads.
class Operation {
public:
    /// `shape`: in the grammar of the command line, "op=rmsnorm,n=8192x4096,dtype=bf16"
    /// (docs/operations.md). `backend`: a kernel's name; empty: chosen by the model. `threads`: of
    /// a CPU, 0 all. Throws Error: invalid_argument for a shape that cannot be, and for attention,
    /// which has calls of its own; unsupported with every kernel's reason where none runs it;
    /// no_device.
    Operation(const std::string& shape, Place place, const std::string& backend = {},
              int threads = 0);
    ~Operation();
    Operation(Operation&&) noexcept;
    Operation& operator=(Operation&&) noexcept;

    /// What `run` takes an address of, in this order.
    [[nodiscard]] const std::vector<OperationTensorInfo>& tensors() const;
    [[nodiscard]] std::string_view kernel() const;
    [[nodiscard]] std::size_t workspace_bytes() const;

    /// `addresses`: one a tensor, on the device of the place; null where it has no rows. Outputs
    /// may not overlap anything. On a GPU it is enqueued on the stream and not waited for. Throws
    /// Error(invalid_argument) before anything is written. Indices are not looked at: one that is
    /// out of range reads elsewhere.
    void run(std::span<void* const> addresses, const Execution& execution) const;

    /// The gate over outputs that anyone computed, all tensors in host memory: "" if they are right
    /// to the rounding that the kernel declares, else why not. `seed`: which rows of a large output
    /// are compared. `relative_rms` and `bound`, if given, get the largest error and what it may
    /// be.
    [[nodiscard]] std::string check(std::span<const void* const> addresses, std::uint64_t seed,
                                    double* relative_rms = nullptr, double* bound = nullptr) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace raceline
