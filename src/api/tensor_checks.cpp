// SPDX-License-Identifier: Apache-2.0
#include "api/tensor_checks.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <utility>

#include "api/refusal.hpp"
#include "support/check.hpp"

namespace raceline {

TensorView TensorView::contiguous(void* data, DType dtype, std::vector<std::int64_t> shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::uint64_t stride = 1;  // unsigned: a nonsensical shape is refused by the call, not here
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = static_cast<std::int64_t>(stride);
        // A dimension of size zero must not make the outer strides zero.
        stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
    }
    return {data, dtype, std::move(shape), std::move(strides)};
}

namespace api {
namespace {

// Kernels count rows, heads and keys in 32 bits.
constexpr std::int64_t largest_size = std::numeric_limits<std::int32_t>::max();

std::string list(std::span<const std::int64_t> values) {
    return fmt::format("({})", fmt::join(values, ", "));
}

void check_sizes(std::string_view name, const TensorView& view, std::size_t rank) {
    if (view.shape.size() != rank || view.strides.size() != rank) {
        fail(bad, "{} has {} sizes and {} strides; this call takes {} of each", name,
             view.shape.size(), view.strides.size(), rank);
    }
    for (std::size_t i = 0; i < rank; ++i) {
        require(view.shape[i] >= 0 && view.shape[i] <= largest_size, bad,
                "{}'s size {} is {}; it must be 0 to {}", name, i, view.shape[i], largest_size);
        require(view.strides[i] >= 0, bad, "{}'s stride {} is {}; it must not be negative", name, i,
                view.strides[i]);
    }
}

std::int64_t element_bytes(std::string_view name, const TensorView& view) {
    switch (view.dtype) {
        case DType::fp32: return 4;
        case DType::fp16:
        case DType::bf16: return 2;
        case DType::e4m3: return 1;
        case DType::nvfp4: break;
    }
    fail(bad, "{} has dtype {} ({}); tensors are fp32, fp16, bf16 or e4m3", name,
         name_of(view.dtype), static_cast<int>(view.dtype));
}

// Distance in elements from the first to one past the last, 0 if there are none; refuses what does
// not fit into an address.
std::int64_t span_of(std::string_view name, const TensorView& view, std::int64_t element) {
    std::int64_t span = 1;
    bool overflow = false;
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        if (view.shape[i] == 0) {
            return 0;
        }
        std::int64_t reach = 0;
        overflow |= __builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &reach);
        overflow |= __builtin_add_overflow(span, reach, &span);
    }
    std::int64_t bytes = 0;
    overflow |= __builtin_mul_overflow(span, element, &bytes);
    if (overflow) {
        fail(bad, "{} of shape {} and strides {} is larger than memory can be", name,
             list(view.shape), list(view.strides));
    }
    return span;
}

MemoryRange range_of(std::string_view name, const void* data, std::int64_t bytes,
                     std::size_t alignment) {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    if (bytes == 0) {
        return {name, 0, 0};
    }
    require(data != nullptr, bad, "{} is a null pointer; it must point to {} bytes", name, bytes);
    require(first % alignment == 0, bad,
            "{} starts at an address that is not a multiple of its element's {} bytes", name,
            alignment);
    const auto last = first + static_cast<std::uintptr_t>(bytes);
    require(last > first, bad, "{} reaches past the end of the address space ({} bytes)", name,
            bytes);
    return {name, first, last};
}

MemoryRange check_any(std::string_view name, const TensorView& view, std::size_t rank,
                      Pointers pointers) {
    check_sizes(name, view, rank);
    const std::int64_t element = element_bytes(name, view);
    const std::int64_t span = span_of(name, view, element);
    if (pointers == Pointers::ignored) {
        return {name, 0, 0};
    }
    return range_of(name, view.data, span * element, static_cast<std::size_t>(element));
}

void check_last(std::string_view name, const TensorView& view) {
    // A last dimension of one element (or none) has no neighbour to be contiguous with.
    require(view.strides.back() == 1 || view.shape.back() <= 1, bad,
            "{}'s last stride is {}; the head dimension must be contiguous (stride 1)", name,
            view.strides.back());
}

// Elements are distinct if the dimensions nest: taken by rising stride, each stride clears the
// extent of those before it. Every permuted, padded or sliced tensor nests.
void check_no_alias(std::string_view name, const TensorView& view) {
    std::array<std::pair<std::int64_t, std::int64_t>, 4> dims;  // stride, size; by rising stride
    std::size_t count = 0;
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        if (view.shape[i] == 0) {
            return;
        }
        if (view.shape[i] > 1) {
            std::size_t at = count++;
            for (; at > 0 && dims[at - 1].first > view.strides[i]; --at) {
                dims[at] = dims[at - 1];
            }
            dims[at] = {view.strides[i], view.shape[i]};
        }
    }
    std::int64_t extent = 1;
    for (std::size_t i = 0; i < count; ++i) {
        if (dims[i].first < extent) {
            fail(bad,
                 "{}'s strides {} alias for shape {}: elements would share an address; in an "
                 "output every stride must clear the extent of the smaller ones",
                 name, list(view.strides), list(view.shape));
        }
        extent += dims[i].first * (dims[i].second - 1);
    }
}

void check_sizes_are(std::string_view name, const TensorView& view,
                     std::span<const std::int64_t> expected, std::string_view meaning) {
    if (!std::ranges::equal(view.shape, expected)) {
        fail(bad, "{} has shape {}; it must be {} = {}", name, list(view.shape), meaning,
             list(expected));
    }
}

}  // namespace

MemoryRange check_view(std::string_view name, const TensorView& view, std::size_t rank,
                       Pointers pointers) {
    const MemoryRange range = check_any(name, view, rank, pointers);
    check_last(name, view);
    return range;
}

MemoryRange check_output(std::string_view name, const TensorView& view, std::size_t rank,
                         Pointers pointers) {
    const MemoryRange range = check_any(name, view, rank, pointers);
    check_last(name, view);
    check_no_alias(name, view);
    return range;
}

MemoryRange check_strided(std::string_view name, const TensorView& view, std::size_t rank,
                          Pointers pointers) {
    return check_any(name, view, rank, pointers);
}

MemoryRange check_lse(const TensorView& view, std::size_t rank, Pointers pointers) {
    const MemoryRange range = check_any("lse", view, rank, pointers);
    require(view.dtype == DType::fp32, bad, "lse has dtype {}; it is always fp32",
            name_of(view.dtype));
    check_no_alias("lse", view);
    return range;
}

std::pair<MemoryRange, MemoryRange> check_results(const TensorView& out, const TensorView& lse,
                                                  std::size_t rank, Pointers pointers) {
    return {check_output("out", out, rank, pointers),
            lse.data == nullptr ? MemoryRange{} : check_lse(lse, rank - 1, pointers)};
}

MemoryRange check_array(std::string_view name, const void* data, std::int64_t count,
                        std::size_t size) {
    std::int64_t bytes = 0;
    require(!__builtin_mul_overflow(count, static_cast<std::int64_t>(size), &bytes), bad,
            "{} with {} elements is larger than memory can be", name, count);
    return range_of(name, data, bytes, size);
}

std::int64_t kernel_stride(const TensorView& view, std::size_t i) {
    constexpr std::int64_t farthest = std::int64_t{1} << 56U;
    return view.strides[i] > farthest ? 0 : view.strides[i];
}

void check_apart(const MemoryRange& written, std::span<const MemoryRange> others) {
    for (const MemoryRange& other : others) {
        require(written.last <= other.first || other.last <= written.first, bad,
                "{} overlaps {} in memory; it must lie apart from it", written.name, other.name);
    }
}

void check_shape(std::string_view name, const TensorView& view,
                 std::initializer_list<std::int64_t> expected, std::string_view meaning) {
    check_sizes_are(name, view, {expected.begin(), expected.size()}, meaning);
}

void check_outputs(const TensorView& out, const TensorView& lse,
                   std::initializer_list<std::int64_t> expected, std::string_view meaning,
                   std::string_view meaning_of_lse) {
    check_shape("out", out, expected, meaning);
    if (lse.data != nullptr) {
        check_sizes_are("lse", lse, {expected.begin(), expected.size() - 1}, meaning_of_lse);
    }
}

void check_dtype(std::string_view name, const TensorView& view, DType expected,
                 std::string_view of) {
    require(view.dtype == expected, bad, "{} has dtype {}; it must be {}'s, {}", name,
            name_of(view.dtype), of, name_of(expected));
}

}  // namespace api
}  // namespace raceline
