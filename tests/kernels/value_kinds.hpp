// SPDX-License-Identifier: Apache-2.0
// Values of which 8-bit sums without promotion lose bits, and some of which they do not: V plus
// half a standard deviation, of a mean whose sign changes every 4k keys, magnitudes, one channel
// times 20, a sink, standard normals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "workload/inputs.hpp"

namespace raceline::test {

inline constexpr int value_kinds = 6;
inline const char* name_of_kind(int kind) {
    constexpr const char* names[value_kinds] = {"normal",     "plus 0.5",        "sign every 4k",
                                                "magnitudes", "one channel x20", "sink of 30 %"};
    return names[kind];
}

// Independent standard normals, the same on every machine with this standard library.
inline std::vector<float> normals(std::size_t count, std::uint64_t seed) {
    constexpr std::size_t piece = 1 << 16;
    std::vector<float> drawn(count);
    const auto pieces = static_cast<std::ptrdiff_t>((count + piece - 1) / piece);
#pragma omp parallel for
    for (std::ptrdiff_t p = 0; p < pieces; ++p) {
        const std::size_t first = static_cast<std::size_t>(p) * piece;
        std::mt19937_64 bits(seed * 1'000'003 + static_cast<std::uint64_t>(p));
        std::normal_distribution<float> normal;
        for (std::size_t i = first; i < std::min(first + piece, count); ++i) {
            drawn[i] = normal(bits);
        }
    }
    return drawn;
}

// element(i) into an e4m3 tensor.
template <class Element>
void fill(std::vector<std::byte>& to, const Element& element) {
#pragma omp parallel for
    for (std::ptrdiff_t i = 0; i < std::ssize(to); ++i) {
        const auto at = static_cast<std::size_t>(i);
        store_element(to.data(), DType::e4m3, at, element(at));
    }
}

// What all kinds of values of a shape share: queries, keys, and normals that values are made of.
struct Drawn {
    Inputs in;
    std::vector<float> v;
    std::vector<std::int64_t> key_of_token;
    explicit Drawn(const Workload& w) : in(make_inputs(w, {.seed = 5, .draw = Draw::plain})) {
        for (std::vector<float>* scale : {&in.q_scale, &in.k_scale, &in.v_scale}) {
            std::fill(scale->begin(), scale->end(), 1.0F);
        }
        const std::vector<float> q = normals(in.q.size(), 1);
        const std::vector<float> k = normals(in.k.size(), 2);
        fill(in.q, [&](std::size_t i) { return q[i]; });
        fill(in.k, [&](std::size_t i) { return k[i]; });
        v = normals(in.v.size(), 3);
        for (std::int64_t b = 0; b < w.batch; ++b) {
            for (std::int64_t key = 0; key < w.length_k(b); ++key) {
                key_of_token.push_back(key);
            }
        }
    }
};

// V of a kind; and the sink: a key that every query gives some 30 % of its weight.
inline Inputs inputs_of(const Workload& w, const Drawn& drawn, int kind) {
    Inputs in = drawn.in;
    const auto width = static_cast<std::size_t>(w.headdim_v);
    const std::size_t row = static_cast<std::size_t>(w.heads_kv) * width;
    fill(in.v, [&](std::size_t i) -> double {
        const double x = drawn.v[i];
        switch (kind) {
            case 1: return x + 0.5;
            case 2: return drawn.key_of_token[i / row] / 4096 % 2 == 0 ? x + 0.5 : x - 0.5;
            case 3: return std::abs(x);
            case 4: return i % width == 3 ? 20 * (x + 0.5) : x;
            default: return x;
        }
    });
    if (kind != 5) {
        return in;
    }
    const auto d = static_cast<std::size_t>(w.headdim);
    const std::size_t k_row = static_cast<std::size_t>(w.heads_kv) * d;
    for (std::size_t i = 0; i < in.q.size(); i += d) {
        store_element(in.q.data(), DType::e4m3, i, 4);
    }
    for (std::size_t i = 0; i < in.k.size(); i += d) {
        const bool first = drawn.key_of_token[i / k_row] == 0;
        store_element(in.k.data(), DType::e4m3, i, 0);
        for (std::size_t c = 1; first && c < d; ++c) {
            store_element(in.k.data(), DType::e4m3, i + c, 0);
        }
    }
    std::size_t token = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const double wanted =
            std::log(static_cast<double>(w.length_k(b))) + 0.5 + std::log(0.3 / 0.7);
        for (std::size_t i = 0; i < k_row; i += d) {
            store_element(in.k.data(), DType::e4m3, token * k_row + i,
                          wanted / 4 / w.scale_value());
        }
        token += static_cast<std::size_t>(w.length_k(b));
    }
    return in;
}

}  // namespace raceline::test
