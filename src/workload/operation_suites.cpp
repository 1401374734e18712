// SPDX-License-Identifier: Apache-2.0
#include "workload/operation_suites.hpp"

#include <algorithm>
#include <array>

#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/shape_draw.hpp"
#include "workload/shape_field.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::uint64_t operations_stream = 0x6F7073;  // "ops"
constexpr double least_operation_bytes = 1e5, most_operation_bytes = 1e9;
constexpr double most_operation_flops = 7e10;

/// Chains that models are made of, and some that only show what a chain is.
constexpr std::array<std::string_view, 16> chains{"relu",
                                                  "gelu",
                                                  "silu+mul",
                                                  "add",
                                                  "add+relu",
                                                  "bias+gelu",
                                                  "softmax",
                                                  "layernorm",
                                                  "rmsnorm",
                                                  "rope",
                                                  "add+rmsnorm",
                                                  "rmsnorm+rope",
                                                  "add+store+rmsnorm",
                                                  "add+store+layernorm",
                                                  "sigmoid+mul+add",
                                                  "exp"};

std::string draw_type(ShapeDraw& draw) {
    constexpr std::array<std::string_view, 4> types{"bf16", "bf16", "fp32", "fp16"};
    return std::string(types[static_cast<std::size_t>(draw.between(0, 3))]);
}

std::string draw_rows(ShapeDraw& draw) {
    const std::string_view chain = chains[static_cast<std::size_t>(
        draw.between(0, static_cast<std::int64_t>(chains.size()) - 1))];
    const bool turns = chain.find("rope") != std::string_view::npos;
    const std::int64_t heads = draw.of(std::array<std::int64_t, 4>{1, 8, 32, 40});
    const std::int64_t width =
        turns ? 128 * heads
              : draw.of(std::array<std::int64_t, 10>{128, 768, 1024, 2048, 3000, 4096, 5120, 8192,
                                                     14336, 28672});
    return fmt::format("op={},n={}x{},dtype={}", chain, draw.by_doublings(18), width,
                       draw_type(draw));
}

std::string draw_product(ShapeDraw& draw) {
    constexpr std::array<std::int64_t, 6> sizes{1024, 2048, 4096, 6144, 11008, 14336};
    constexpr std::array<std::string_view, 4> steps{"linear", "gemm", "linear+bias",
                                                    "linear+bias+gelu"};
    return fmt::format("op={},m={},n={},k={},dtype={}",
                       steps[static_cast<std::size_t>(draw.between(0, 3))], draw.by_doublings(13),
                       draw.of(sizes), draw.of(sizes), draw.one_in(4) ? "fp32" : "bf16");
}

std::string draw_operation(ShapeDraw& draw) {
    switch (draw.between(0, 9)) {
        case 0:
            return fmt::format("op=adam,n={}x4096,dtype={},master={},state={}",
                               draw.by_doublings(14), draw.one_in(2) ? "fp32" : "bf16",
                               draw.one_in(2) ? "fp32" : "none", draw.one_in(3) ? "bf16" : "fp32");
        case 1:
            return fmt::format(
                "op=embedding,tokens={},vocab={},d={},dtype={}", draw.by_doublings(16),
                draw.of(std::array<std::int64_t, 3>{32000, 50257, 128256}),
                draw.of(std::array<std::int64_t, 3>{1024, 2048, 4096}), draw_type(draw));
        case 2:
            return fmt::format("op=crossentropy,n={}x{},dtype={}", draw.by_doublings(13),
                               draw.of(std::array<std::int64_t, 3>{32000, 50257, 128256}),
                               draw_type(draw));
        case 3:
        case 4: return draw_product(draw);
        default: return draw_rows(draw);
    }
}

bool is_measurable(const Workload& w) {
    const double bytes = w.bytes_read() + w.bytes_written();
    return bytes >= least_operation_bytes && bytes <= most_operation_bytes &&
           bytes_of_inputs(w) <= 2 * most_operation_bytes && w.flops() <= most_operation_flops;
}

/// What of a decoder layer differs between models; all have norms before attention and before the
/// feed-forward part, which has gate, up and down projections.
struct DecoderModel {
    std::string_view name;
    std::int64_t hidden, heads_q, heads_kv, headdim, feed_forward;
    bool norm_of_heads;  ///< queries and keys are normed by head before they are turned
};
constexpr std::array models{DecoderModel{"llama3-8b", 4096, 32, 8, 128, 14336, false},
                            DecoderModel{"llama3-70b", 8192, 64, 8, 128, 28672, false},
                            DecoderModel{"mistral-7b", 4096, 32, 8, 128, 14336, false},
                            DecoderModel{"qwen3-8b", 4096, 32, 8, 128, 12288, true}};

const DecoderModel& find_model(std::string_view name) {
    const auto* const found = std::ranges::find_if(
        models, [&](const DecoderModel& model) { return same_word(model.name, name); });
    if (found != models.end()) {
        return *found;
    }
    const std::vector<std::string_view> names = layer_models();
    const std::string_view near = nearest(name.substr(0, 40), names);
    fail(Status::invalid_argument, "no layer of {} is known{} {}", in_quotes(name),
         near.empty() ? "; there are:" : fmt::format(": did you mean '{}'? There are:", near),
         fmt::join(names, " "));
}

/// Sequences, new tokens of each, and keys that each has then.
struct LayerCall {
    std::int64_t batch, tokens, keys;
    bool decode;
};
LayerCall parse_call(std::string_view text) {
    constexpr std::array<std::string_view, 2> passes{"prefill", "decode"};
    const std::size_t equals = text.find('=');
    const std::string_view written = text.substr(0, equals);
    const std::string_view same = same_among(written, passes);
    const std::string_view pass = same.empty() ? written : same;
    const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    const std::size_t times = value.find_first_of("xX");
    if (pass == "prefill" && times == std::string_view::npos) {
        const std::int64_t tokens = parse_count(pass, value);
        require(tokens > 0, Status::invalid_argument, "prefill=0 is no call: 1 token or more");
        return {1, tokens, tokens, false};
    }
    const std::string_view near = nearest(pass, passes);
    require(pass == "decode" && times != std::string_view::npos, Status::invalid_argument,
            "a layer's call is {}{}; it must be prefill=TOKENS or decode=SEQUENCESxKEYS",
            in_quotes(text), near.empty() || near == pass ? "" : fmt::format(" ({}?)", near));
    const LayerCall call{parse_count(pass, value.substr(0, times)), 1,
                         parse_count(pass, value.substr(times + 1)), true};
    require(call.batch > 0 && call.keys > 0, Status::invalid_argument,
            "decode={}x{} is no call: 1 sequence and 1 key or more", call.batch, call.keys);
    return call;
}

}  // namespace

std::vector<std::string> operation_shapes() {
    std::vector<std::string> shapes;
    for (const char* rows :
         {"relu,n=16384x8192", "add+relu,n=16384x8192", "silu+mul,n=16384x14336",
          "bias+gelu,n=16384x8192", "softmax,n=4096x4096", "softmax,n=32768x8192",
          "layernorm,n=4096x4096", "layernorm,n=32768x8192", "rmsnorm,n=8192x4096",
          "rmsnorm,n=32768x8192", "add+store+rmsnorm,n=8192x4096", "add+store+rmsnorm,n=16384x8192",
          "rope,n=32768x4096", "rmsnorm+rope,n=1048576x128"}) {
        shapes.push_back(fmt::format("op={}", rows));
    }
    shapes.insert(shapes.end(),
                  {"op=rmsnorm,n=16384x8192,dtype=fp32", "op=adam,n=8192x4096,master=fp32",
                   "op=adam,n=8192x4096,dtype=fp32", "op=adam,n=16384x4096,state=bf16",
                   "op=embedding,tokens=32768,vocab=128256,d=4096",
                   "op=embedding,tokens=4096,vocab=50257,d=1024,dtype=fp32",
                   "op=crossentropy,n=2048x128256"});
    for (const int rows : {1, 16, 128, 512, 2048}) {
        shapes.push_back(fmt::format("op=linear,m={},n=4096,k=4096", rows));
    }
    shapes.insert(shapes.end(), {"op=linear,m=64,n=4096,k=4096,dtype=fp32",
                                 "op=gemm,m=1024,n=1024,k=1024,dtype=fp32",
                                 "op=linear+bias+gelu,m=2048,n=14336,k=4096"});
    return shapes;
}

std::vector<Workload> draw_operations(std::uint64_t seed, std::size_t count) {
    return draw_distinct(seed, operations_stream, count, draw_operation, is_measurable);
}

std::span<const std::string_view> operation_chains() {
    return chains;
}

std::vector<std::string_view> layer_models() {
    std::vector<std::string_view> names;
    names.reserve(models.size());
    for (const DecoderModel& model : models) {
        names.push_back(model.name);
    }
    return names;
}

std::string layer_name(std::string_view layer) {
    const std::size_t colon = layer.find(':');
    const DecoderModel& m = find_model(layer.substr(0, colon));
    const LayerCall call = parse_call(layer.substr(colon + 1));
    return call.decode ? fmt::format("{}:decode={}x{}", m.name, call.batch, call.keys)
                       : fmt::format("{}:prefill={}", m.name, call.tokens);
}

std::vector<std::string> layer_shapes(std::string_view layer) {
    const std::size_t colon = layer.find(':');
    require(colon != std::string_view::npos, Status::invalid_argument,
            "a layer is a model and a call, as in layer:llama3-8b:{}",
            layer.find_first_of("dD") == 0 ? "decode=64x8192" : "prefill=4096");
    const DecoderModel& m = find_model(layer.substr(0, colon));
    const LayerCall call = parse_call(layer.substr(colon + 1));
    const std::int64_t tokens = call.batch * call.tokens;
    const std::int64_t columns_q = m.heads_q * m.headdim;
    const std::int64_t columns_kv = m.heads_kv * m.headdim;
    const auto linear = [&](std::int64_t n, std::int64_t k) {
        return fmt::format("op=linear,m={},n={},k={}", tokens, n, k);
    };
    const std::string turned =
        m.norm_of_heads
            ? fmt::format("op=rmsnorm+rope,n={}x{},d={}", tokens * (m.heads_q + m.heads_kv),
                          m.headdim, m.headdim)
            : fmt::format("op=rope,n={}x{},d={}", tokens, columns_q + columns_kv, m.headdim);
    return {fmt::format("op=rmsnorm,n={}x{}", tokens, m.hidden),
            linear(columns_q + 2 * columns_kv, m.hidden),
            turned,
            fmt::format("b={},h={}/{},q={},k={},d={},causal", call.batch, m.heads_q, m.heads_kv,
                        call.tokens, call.keys, m.headdim),
            linear(m.hidden, columns_q),
            fmt::format("op=add+store+rmsnorm,n={}x{}", tokens, m.hidden),
            linear(2 * m.feed_forward, m.hidden),
            fmt::format("op=silu+mul,n={}x{}", tokens, m.feed_forward),
            linear(m.hidden, m.feed_forward),
            fmt::format("op=add,n={}x{}", tokens, m.hidden)};
}

}  // namespace raceline
