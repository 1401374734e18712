// SPDX-License-Identifier: Apache-2.0
// Predicts one problem at many sizes, for sweeps, schedulers and capacity plans.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// The prediction for one size. Its texts live as long as the SizeModel that returned it.
struct SizeTime {
    double seconds = 0;        ///< time of the kernel with this tile; 0: no kernel fits this size
    double bound_seconds = 0;  ///< no program can be faster
    std::string_view limiter;  ///< what limits the kernel, or the bound if there is no kernel
    std::string_view kernel;   ///< its name; empty: none
    int tile = -1;             ///< index of its tile in the list of `raceline kernels --json`
};

/// Looks up device, kernels and fields once. Safe to use from several threads.
class SizeModel {
public:
    /// `shape`: as for predict_shape, with any value for the fields in `varying`. For attention, b,
    /// q and k may vary; for other operations, every whole number. A grid such as n counts as two
    /// fields, "rows" and "width". Kernel and tile are chosen again only when a size has doubled
    /// since the last choice. Throws Error(invalid_argument) as predict_shape does, and for a field
    /// that the shape does not have; the message names the nearest one.
    SizeModel(const std::string& shape, const std::vector<std::string>& varying,
              const std::string& device = {}, const std::string& kernel = {});
    ~SizeModel();
    SizeModel(SizeModel&&) noexcept;
    SizeModel& operator=(SizeModel&&) noexcept;

    /// `sizes`: one for each varying field, in the same order. Throws Error(invalid_argument) for a
    /// size that the operation does not accept.
    [[nodiscard]] SizeTime at(std::span<const std::int64_t> sizes) const;

    /// Many sizes at once: for each of them one number per varying field. `threads`: 0 means one
    /// for each logical CPU. Throws as `at` does.
    [[nodiscard]] std::vector<SizeTime> at_all(std::span<const std::int64_t> sizes,
                                               int threads = 0) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace raceline
