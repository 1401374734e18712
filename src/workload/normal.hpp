// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers by counter: the n-th value of a stream needs none of those before it, so
// that any thread can fill any part and every standard library gives the same data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "raceline/dtype.hpp"

namespace raceline {

/// Value `counter` of the stream `key`: the output function of SplitMix64 (Steele, Lea, Flood,
/// OOPSLA 2014) over key + counter times its odd increment.
constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) {
    std::uint64_t z = key + (counter + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// A key for stream `number` of `seed`; streams of one seed are unrelated.
constexpr std::uint64_t stream_key(std::uint64_t seed, std::uint64_t number) {
    return random_bits(random_bits(0x7261'6365'6c69'6e65U, seed), number);
}

/// A number below `bound` (bound > 0). The bias is bound / 2^64.
constexpr std::uint64_t random_below(std::uint64_t key, std::uint64_t counter,
                                     std::uint64_t bound) {
    return random_bits(key, counter) % bound;
}

/// Uniform in [0, 1).
constexpr double random_unit(std::uint64_t key, std::uint64_t counter) {
    return static_cast<double>(random_bits(key, counter) >> 11) * 0x1p-53;
}

/// Standard normal, from 16 random bits through the quantile function: 65,536 distinct values, the
/// largest 4.3. Coarse in value and exact in distribution, which is all that test data needs.
double normal_quantile(std::uint16_t bits);

/// The 65,536 quantiles as a type stores them, in the order of their 16 bits. Not for nvfp4.
std::span<const std::byte> normal_table(DType dtype);

/// Fills `count` elements of storage with normals; `block` numbers the run, and runs of one key
/// with different blocks are independent as long as each is at most `longest_run` long.
constexpr std::uint64_t longest_run = std::uint64_t{1} << 28;
void fill_normal(std::byte* at, DType dtype, std::size_t count, std::uint64_t key,
                 std::uint64_t block);

}  // namespace raceline
