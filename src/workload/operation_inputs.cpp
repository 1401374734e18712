// SPDX-License-Identifier: Apache-2.0
// Seeded data for operations that take any numbers.
#include <algorithm>
#include <cstring>
#include <limits>

#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"

namespace raceline {
namespace {

constexpr std::int64_t outlier_stride = 61;  // prime: no width or tile is a multiple of it
constexpr std::int64_t most_places = 4;

void change_element(std::byte* at, DType dtype, std::int64_t i, double factor, double summand) {
    store_element(at, dtype, i, load_element(at, dtype, i) * factor + summand);
}

/// NaN and both infinities, where the type has them, in a few places.
void place_non_finite(std::byte* at, DType dtype, std::int64_t count, std::uint64_t key) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < std::min(most_places, count); ++i) {
        const auto where = random_below(key, i, count);
        const bool nan = dtype == DType::e4m3 || i % 3 == 0;
        const double value = i % 3 == 1 ? infinity : -infinity;
        store_element(at, dtype, where, nan ? std::numeric_limits<double>::quiet_NaN() : value);
    }
}

void change_for(Draw draw, std::byte* at, const TensorSpec& tensor, std::uint64_t key) {
    const std::int64_t count = tensor.elements();
    if (draw == Draw::non_finite) {
        place_non_finite(at, tensor.dtype, count, stream_key(key, stream_non_finite));
        return;
    }
    const bool outliers = draw == Draw::outliers;
    const double factor = outliers ? outlier_factor : draw == Draw::peaked ? peak_factor : 1;
    const double summand = draw == Draw::biased ? draw_bias : 0;
    if (factor == 1 && summand == 0) {
        return;
    }
    const std::int64_t step = outliers ? outlier_stride : 1;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; i += step) {
        change_element(at, tensor.dtype, i, factor, summand);
    }
}

void draw_indices(std::byte* at, const TensorSpec& tensor, std::uint64_t key) {
    const auto below = static_cast<std::uint64_t>(tensor.indices_below);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        const auto index = static_cast<std::int32_t>(random_below(key, i, below));
        std::memcpy(at + i * sizeof(index), &index, sizeof(index));
    }
}

}  // namespace

std::int64_t OperationData::index(std::size_t tensor, std::int64_t element) const {
    std::int32_t index = 0;
    std::memcpy(&index, data[tensor].data() + element * sizeof(index), sizeof(index));
    return index;
}

double OperationData::at(std::size_t tensor, std::int64_t element) const {
    return load_element(data[tensor].data(), tensors[tensor].dtype,
                        static_cast<std::size_t>(element));
}

OperationData normal_inputs(const Workload& workload, std::uint64_t seed, Draw draw) {
    OperationData in{seed, draw, find_operation(workload.op).tensors(workload), {}};
    for (std::size_t i = 0; i < in.tensors.size(); ++i) {
        const TensorSpec& tensor = in.tensors[i];
        std::vector<std::byte>& data = in.data.emplace_back();
        if (tensor.output) {
            continue;
        }
        data.resize(tensor.bytes());
        const std::uint64_t key = stream_key(seed, i);
        if (tensor.indices_below > 0) {
            draw_indices(data.data(), tensor, key);
            continue;
        }
        const auto count = static_cast<std::uint64_t>(tensor.elements());
        const auto each = static_cast<std::uint64_t>(bytes_of(tensor.dtype));
        for (std::uint64_t first = 0; first < count; first += longest_run) {
            fill_normal(data.data() + first * each, tensor.dtype,
                        std::min(longest_run, count - first), key, first / longest_run);
        }
        change_for(draw, data.data(), tensor, key);
    }
    return in;
}

}  // namespace raceline
