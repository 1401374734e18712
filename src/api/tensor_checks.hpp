// SPDX-License-Identifier: Apache-2.0
// What must hold of a caller's views before a kernel may touch them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "raceline/raceline.hpp"

namespace raceline::api {

/// A prediction looks at shapes only: its views need no memory behind them.
enum class Pointers { needed, ignored };

/// The bytes from a view's first element to its last, [first, last); empty for a view without
/// elements. `name` is the argument's, for error sentences.
struct MemoryRange {
    std::string_view name;
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
};

/// Rank, sizes, strides, dtype and pointer of one view. Every check that needs no other argument.
/// Throws Error(invalid_argument). Returns the view's memory (empty with Pointers::ignored).
MemoryRange check_view(std::string_view name, const TensorView& view, std::size_t rank,
                       Pointers pointers);

/// As above for memory that is written: two elements must not share an address.
MemoryRange check_output(std::string_view name, const TensorView& view, std::size_t rank,
                         Pointers pointers);

/// As check_view, of any strides: no last dimension must be contiguous.
MemoryRange check_strided(std::string_view name, const TensorView& view, std::size_t rank,
                          Pointers pointers);

/// float32 of any strides, no last dimension that must be contiguous; written.
MemoryRange check_lse(const TensorView& view, std::size_t rank, Pointers pointers);

/// The results of a call: out, and its LSE, of one dimension less, unless its pointer is null.
std::pair<MemoryRange, MemoryRange> check_results(const TensorView& out, const TensorView& lse,
                                                  std::size_t rank, Pointers pointers);

/// Plain arrays: `count` elements of `size` bytes at `data`; null only if there are none.
MemoryRange check_array(std::string_view name, const void* data, std::int64_t count,
                        std::size_t size);

/// The stride of dimension `i` for kernels, which multiply it by sizes of elements and by indices
/// that are 0: of a dimension of one element, or of none, it may be any number, and is 0 where its
/// bytes would not fit.
std::int64_t kernel_stride(const TensorView& view, std::size_t i);

/// Refuses a written range that shares bytes with one of the others.
void check_apart(const MemoryRange& written, std::span<const MemoryRange> others);
inline void check_apart(const MemoryRange& written, std::initializer_list<MemoryRange> others) {
    check_apart(written, std::span(others.begin(), others.size()));
}

/// Refuses a view whose shape is not `expected`; `meaning` says what the dimensions are.
void check_shape(std::string_view name, const TensorView& view,
                 std::initializer_list<std::int64_t> expected, std::string_view meaning);

/// The same of an output, and of its LSE unless its pointer is null: out's sizes without columns.
void check_outputs(const TensorView& out, const TensorView& lse,
                   std::initializer_list<std::int64_t> expected, std::string_view meaning,
                   std::string_view meaning_of_lse);

/// The dtypes that calls take: `view`'s must be `expected`, which `of` names.
void check_dtype(std::string_view name, const TensorView& view, DType expected,
                 std::string_view of);

}  // namespace raceline::api
