// SPDX-License-Identifier: Apache-2.0
// What the sources of the model use of C++20's library and libc++ 14, which comes with Debian's
// emscripten, does not have: some algorithms on ranges, std::bit_cast, and std::from_chars of a
// double. Included before every file of the WebAssembly build; empty with any newer library.
#pragma once

#include <version>
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>

namespace std {

// A spelling that strtod knows and from_chars does not is refused: space or plus sign in front,
// hexadecimal digits.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
    const string text(first, last);
    if (text.empty() || isspace(static_cast<unsigned char>(text[0])) != 0 || text[0] == '+' ||
        text.find_first_of("xX") != string::npos) {
        return {first, errc::invalid_argument};
    }
    char* end = nullptr;
    errno = 0;
    const double parsed = strtod(text.c_str(), &end);
    if (end == text.c_str()) {
        return {first, errc::invalid_argument};
    }
    const char* const stopped = first + (end - text.c_str());
    if (errno == ERANGE) {
        return {stopped, errc::result_out_of_range};
    }
    value = parsed;
    return {stopped, errc{}};
}

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, from);
}

namespace ranges {

template <class Range, class Test, class Of = identity>
constexpr auto find_if(Range&& range, Test test, Of of = {}) {
    auto at = begin(range);
    while (at != end(range) && !invoke(test, invoke(of, *at))) {
        ++at;
    }
    return at;
}
template <class Range, class Test>
constexpr auto count_if(Range&& range, Test test) {
    return std::count_if(begin(range), end(range), test);
}
template <class Range, class Out>
constexpr auto copy(Range&& range, Out out) {
    return std::copy(begin(range), end(range), out);
}
template <class Range, class Value, class Of = identity>
constexpr auto find(Range&& range, const Value& value, Of of = {}) {
    return ranges::find_if(range, [&](const auto& one) { return one == value; }, of);
}
template <class Range, class Test, class Of = identity>
constexpr bool any_of(Range&& range, Test test, Of of = {}) {
    return ranges::find_if(range, test, of) != end(range);
}
template <class Range, class Test, class Of = identity>
constexpr bool all_of(Range&& range, Test test, Of of = {}) {
    return !ranges::any_of(range, [&](const auto& one) { return !invoke(test, one); }, of);
}
template <class Range, class Less = std::less<>, class Of = identity>
constexpr auto min_element(Range&& range, Less less = {}, Of of = {}) {
    auto best = begin(range);
    for (auto at = begin(range); at != end(range); ++at) {
        if (invoke(less, invoke(of, *at), invoke(of, *best))) {
            best = at;
        }
    }
    return best;
}
template <class Range, class Less = std::less<>, class Of = identity>
constexpr void sort(Range&& range, Less less = {}, Of of = {}) {
    std::sort(begin(range), end(range), [&](const auto& a, const auto& b) {
        return invoke(less, invoke(of, a), invoke(of, b));
    });
}
template <class Range>
constexpr void reverse(Range&& range) {
    std::reverse(begin(range), end(range));
}
template <class Range, class Value>
constexpr void fill(Range&& range, const Value& value) {
    std::fill(begin(range), end(range), value);
}
template <class Range, class Out, class Change>
constexpr void transform(Range&& range, Out out, Change change) {
    for (auto&& one : range) {
        *out++ = invoke(change, one);
    }
}

}  // namespace ranges
}  // namespace std

#endif
