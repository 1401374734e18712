// SPDX-License-Identifier: Apache-2.0
// Operations of any size. The models were made on widths of neural networks, so that a suite of
// such widths asks them only what they have seen.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "workload/operation.hpp"
#include "workload/operation_suites.hpp"
#include "workload/shape_draw.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::uint64_t any_operations_stream = 0x6F70732D616E79;  // "ops-any"
constexpr std::int64_t most_width = 300000;
constexpr std::int64_t least_matrix_bytes = 32768;
constexpr int matrix_doublings = 15;      // from least_matrix_bytes
constexpr double most_case_bytes = 2e9;   // inputs and outputs together
constexpr double most_case_flops = 7e10;  // as of draw_operations
constexpr std::int64_t chunk_bytes = 16;  // of a load; rows of other widths begin inside one

// Head dims that a kernel turns in every type.
constexpr std::array<std::int64_t, 4> heads_of_rope{16, 32, 64, 128};
constexpr std::array<std::string_view, 3> types{"bf16", "fp16", "fp32"};

std::int64_t bytes_of_type(std::string_view type) {
    return type == "fp32" ? 4 : 2;
}

std::string_view draw_type(ShapeDraw& draw) {
    return types[static_cast<std::size_t>(draw.between(0, std::ssize(types) - 1))];
}

/// Whole number from `least` to `most`, any doubling as likely as any other.
std::int64_t draw_up_to(ShapeDraw& draw, std::int64_t least, std::int64_t most) {
    int doublings = 1;
    while ((std::int64_t{1} << doublings) < most) {
        ++doublings;
    }
    std::int64_t drawn = 0;
    while (drawn < least || drawn > most) {
        drawn = draw.by_doublings(doublings);
    }
    return drawn;
}

/// A third of them fill whole chunks.
std::int64_t draw_width(ShapeDraw& draw, std::int64_t element) {
    const std::int64_t width = draw_up_to(draw, 1, most_width);
    const std::int64_t chunk = chunk_bytes / element;
    return draw.one_in(3) ? (width + chunk - 1) / chunk * chunk : width;
}

/// As many as a matrix of 32 KB to 1 GB has.
std::int64_t draw_height(ShapeDraw& draw, std::int64_t row_bytes) {
    const std::int64_t bytes = least_matrix_bytes * draw.by_doublings(matrix_doublings);
    return (bytes + row_bytes - 1) / row_bytes;
}

std::string draw_chain(ShapeDraw& draw) {
    const auto chains = operation_chains();
    const std::string_view chain =
        chains[static_cast<std::size_t>(draw.between(0, std::ssize(chains) - 1))];
    const std::string_view type = draw_type(draw);
    std::int64_t width = draw_width(draw, bytes_of_type(type));
    std::string heads;
    if (chain.find("rope") != std::string_view::npos) {
        const std::int64_t d = draw.of(heads_of_rope);
        width = d * draw_up_to(draw, 1, most_width / d);
        heads = fmt::format(",d={}", d);
    }
    const std::int64_t rows = draw_height(draw, width * bytes_of_type(type));
    return fmt::format("op={},n={}x{}{},dtype={}", chain, rows, width, heads, type);
}

std::string draw_adam(ShapeDraw& draw) {
    const std::string_view type = draw.one_in(2) ? "fp32" : "bf16";
    const std::int64_t width = draw_width(draw, bytes_of_type(type));
    return fmt::format("op=adam,n={}x{},dtype={},master={},state={}",
                       draw_height(draw, width * bytes_of_type(type)), width, type,
                       draw.one_in(2) ? "fp32" : "none", draw.one_in(2) ? "bf16" : "fp32");
}

std::string draw_embedding(ShapeDraw& draw) {
    const std::string_view type = draw_type(draw);
    const std::int64_t width = draw_width(draw, bytes_of_type(type));
    return fmt::format("op=embedding,tokens={},vocab={},d={},dtype={}",
                       draw_height(draw, width * bytes_of_type(type)),
                       draw_up_to(draw, 1, most_width), width, type);
}

std::string draw_crossentropy(ShapeDraw& draw) {
    const std::string_view type = draw_type(draw);
    const std::int64_t classes = std::max<std::int64_t>(2, draw_width(draw, bytes_of_type(type)));
    return fmt::format("op=crossentropy,n={}x{},dtype={}",
                       draw_height(draw, classes * bytes_of_type(type)), classes, type);
}

std::string draw_combine(ShapeDraw& draw) {
    const std::string_view type = draw_type(draw);
    const std::int64_t parts = draw_up_to(draw, 2, 128);
    const std::int64_t heads = draw_up_to(draw, 1, 128);
    const std::int64_t d = draw_up_to(draw, 1, 512);
    const std::int64_t row_bytes = parts * heads * d * bytes_of_type(type);
    return fmt::format("op=combine,parts={},rows={},heads={},d={},sinks={},dtype={}", parts,
                       draw_height(draw, row_bytes), heads, d, draw.one_in(4) ? 1 : 0, type);
}

/// Columns are multiples of 8, as libraries want them; rows are as many as tokens happen to be.
std::string draw_product(ShapeDraw& draw) {
    constexpr std::array<std::string_view, 4> steps{"linear", "gemm", "linear+bias",
                                                    "linear+bias+gelu"};
    const std::string_view step = steps[static_cast<std::size_t>(draw.between(0, 3))];
    const std::int64_t m = draw_up_to(draw, 1, 16384);
    const std::int64_t n = 8 * draw_up_to(draw, 1, 4096);
    const std::int64_t k = 8 * draw_up_to(draw, 1, 4096);
    return fmt::format("op={},m={},n={},k={},dtype={}", step, m, n, k, draw_type(draw));
}

std::string draw_operation(ShapeDraw& draw) {
    switch (draw.between(0, 9)) {
        case 0: return draw_adam(draw);
        case 1: return draw_embedding(draw);
        case 2: return draw_crossentropy(draw);
        case 3: return draw_combine(draw);
        case 4: return draw_product(draw);
        default: return draw_chain(draw);
    }
}

bool is_measurable(const Workload& w) {
    return w.bytes_read() + w.bytes_written() >= static_cast<double>(least_matrix_bytes) &&
           bytes_of_inputs(w) + bytes_of_outputs(w) <= most_case_bytes &&
           w.flops() <= most_case_flops;
}

}  // namespace

std::vector<Workload> draw_any_operations(std::uint64_t seed, std::size_t count) {
    return draw_distinct(seed, any_operations_stream, count, draw_operation, is_measurable);
}

}  // namespace raceline
