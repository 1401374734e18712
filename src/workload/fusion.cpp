// SPDX-License-Identifier: Apache-2.0
#include "workload/fusion.hpp"

#include <numeric>

#include "support/check.hpp"
#include "workload/operation.hpp"
#include "workload/operation_shape.hpp"
#include "workload/row_chain.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

FusionPart part_of(std::string name, const Workload& w) {
    return {std::move(name),   w,
            w.flops(),         w.bytes_read(),
            w.bytes_written(), find_operation(w.op).matrix_products};
}

/// A step as a shape of its own. Fields that only other steps have are left out.
Workload step_alone(const Workload& chain, std::string_view step, std::string_view sizes) {
    std::string text = fmt::format("op={},{}", step, sizes);
    if (step == "rope") {
        text += fmt::format(",d={}", chain.extent("d"));
    }
    if (step == "rmsnorm" || step == "layernorm") {
        text += fmt::format(",eps={}", chain.scalar("eps"));
    }
    return parse_shape(text, chain.dtype);
}

/// Steps of a chain of rows; where a value is stored between two steps, the part before writes it.
void add_rows(const Workload& w, Fusion& fusion) {
    const std::string sizes = fmt::format("n={}x{}", w.extent(grid_rows), w.extent(grid_width));
    for (const std::string_view step : steps_of(w.word("steps"))) {
        if (step != "store") {
            fusion.parts.push_back(part_of(std::string(step), step_alone(w, step, sizes)));
        }
    }
}

void add_product(const Workload& w, Fusion& fusion) {
    std::string sizes = fmt::format("n={}x{}", w.extent("m"), w.extent("k"));
    for (const std::string_view step : steps_of(w.word("steps"))) {
        if (find_row_step(step) != nullptr) {
            fusion.parts.push_back(part_of(std::string(step), step_alone(w, step, sizes)));
            continue;
        }
        const std::string product =
            fmt::format("op={},m={},n={},k={}", step, w.extent("m"), w.extent("n"), w.extent("k"));
        fusion.parts.push_back(part_of(std::string(step), parse_shape(product, w.dtype)));
        sizes = fmt::format("n={}x{}", w.extent("m"), w.extent("n"));
    }
}

void add_attention(const Workload& w, Fusion& fusion) {
    double pairs = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        pairs += static_cast<double>(w.length_q(b)) * static_cast<double>(w.length_k(b));
    }
    pairs *= static_cast<double>(w.heads_q);
    fusion.scores = pairs * bytes_of(w.out_dtype());
    // They work on every pair, so they read every key: also those that a window hides.
    Workload unmasked = w;
    unmasked.mask = Mask::full;
    unmasked.window.reset();
    const double keys = unmasked.bytes_kv();
    const auto d = static_cast<double>(w.headdim);
    const auto d_v = static_cast<double>(w.headdim_v);
    const double of_keys = w.mla ? 1 : d / (d + d_v);
    fusion.parts = {
        {"scores", {}, 2 * pairs * d, w.bytes_q() + of_keys * keys, fusion.scores, true},
        {"softmax",
         {},
         form_of(RowStep::softmax).operations * pairs,
         fusion.scores,
         fusion.scores,
         false},
        {"values",
         {},
         2 * pairs * d_v,
         fusion.scores + (w.mla ? 1 : 1 - of_keys) * keys,
         w.bytes_out(),
         true}};
}

}  // namespace

double Fusion::flops() const {
    return std::accumulate(parts.begin(), parts.end(), 0.0,
                           [](double sum, const FusionPart& p) { return sum + p.flops; });
}

double Fusion::bytes_before() const {
    return std::accumulate(parts.begin(), parts.end(), 0.0, [](double sum, const FusionPart& p) {
        return sum + p.bytes_read + p.bytes_written;
    });
}

double Fusion::bytes_after() const {
    return fused.bytes_read() + fused.bytes_written();
}

Fusion fusion_of(const Workload& w) {
    Fusion fusion{w, {}, 0};
    if (w.is_attention()) {
        add_attention(w, fusion);
    } else if (w.words.contains("steps")) {
        w.op == "rows" ? add_rows(w, fusion) : add_product(w, fusion);
    }
    require(fusion.parts.size() > 1, Status::invalid_argument,
            "{} is one step: a chain to fuse has two or more, as in add+rmsnorm, or is attention",
            name_of_operation(w));
    return fusion;
}

}  // namespace raceline
