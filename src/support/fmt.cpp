// SPDX-License-Identifier: Apache-2.0
// fmt's implementation, compiled once: Debian ships fmt as headers and a shared library only, and
// header-only use costs two seconds in every translation unit.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// What format.h declares extern and this unit therefore owes; narrow characters only.
template FMT_API thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template FMT_API char decimal_point_impl<char>(locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
