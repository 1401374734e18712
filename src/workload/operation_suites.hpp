// SPDX-License-Identifier: Apache-2.0
// Suites of operations beside attention: a fixed one, two drawn from a seed, and the parts of a
// decoder layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.hpp"

namespace raceline {

/// Every operation at sizes that memory has to serve, and products of one row to many, as texts of
/// the shape grammar.
std::vector<std::string> operation_shapes();

/// `count` different problems drawn from `seed`: chains of rows of any length, norms, softmax,
/// Adam, embedding, cross-entropy, products; from a hundred kilobytes to a gigabyte, in every type.
std::vector<Workload> draw_operations(std::uint64_t seed, std::size_t count);

/// Chains of rows that both random suites draw from.
std::span<const std::string_view> operation_chains();

/// The same operations and combine, at any size: widths from 1 to 300,000, a third of which fill
/// whole chunks of 16 bytes; products with any m, and n and k by eights; at most 2 GB a case.
std::vector<Workload> draw_any_operations(std::uint64_t seed, std::size_t count);

/// "llama3-8b:prefill=4096" or "llama3-8b:decode=64x8192" (sequences x cached tokens): all parts of
/// one decoder layer in the order in which they run, as texts. Throws Error(invalid_argument) for a
/// model or a pass that does not exist, with the nearest one.
std::vector<std::string> layer_shapes(std::string_view layer);
/// The same text, of which layer_shapes makes something, as rows have it: in small letters.
std::string layer_name(std::string_view layer);

/// Names of the models that layer_shapes knows.
std::vector<std::string_view> layer_models();

}  // namespace raceline
