// SPDX-License-Identifier: Apache-2.0
// One problem at many sizes: what a sweep, a scheduler or a capacity plan asks again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// What the model says of one size. The texts live as long as the model that said it.
struct SizeTime {
    double seconds = 0;        ///< of the kernel in its tile; 0: no kernel serves this size
    double bound_seconds = 0;  ///< no program is faster
    std::string_view limiter;  ///< of the kernel; of the bound where there is none
    std::string_view kernel;   ///< empty: none
    int tile = -1;             ///< among the kernel's, as `raceline kernels --json` lists them
};

/// Looks device, kernels and fields up once. Safe to use from several threads.
class SizeModel {
public:
    /// `shape` as predict_shape takes it, with any value for the fields in `varying`. Of attention
    /// b, q and k may vary, of other operations every whole number; a grid such as n is its two
    /// extents, "rows" and "width". Kernel and tile are decided anew where a size has doubled since
    /// the last decision, not at every size. Throws Error(invalid_argument) as predict_shape does,
    /// and for a field that the shape does not have, naming the nearest.
    SizeModel(const std::string& shape, std::vector<std::string> varying,
              const std::string& device = {}, const std::string& kernel = {});
    ~SizeModel();
    SizeModel(SizeModel&&) noexcept;
    SizeModel& operator=(SizeModel&&) noexcept;

    /// `sizes`: one a varying field, in their order. Throws Error(invalid_argument) for a size that
    /// the operation refuses.
    [[nodiscard]] SizeTime at(std::span<const std::int64_t> sizes) const;

    /// Many sizes, `varying` numbers each, by `threads` threads (0: one a logical CPU). A size that
    /// the operation refuses throws, as with at.
    [[nodiscard]] std::vector<SizeTime> at_all(std::span<const std::int64_t> sizes,
                                               int threads = 0) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace raceline
