// SPDX-License-Identifier: Apache-2.0
// Right outputs made wrong in one place, as a mistake in one head or at one key does. The gate must
// refuse each, on a CPU and on a GPU.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

#include "workload/cache_reader.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/oracle.hpp"

namespace raceline::test {

/// Packed outputs of one call, as inputs.hpp lays them out.
struct HostOutputs {
    std::vector<std::byte> out;
    std::vector<float> lse;
};

enum class Spoil { heads_swapped, garbage_in_one_head, lse_in_base_2_in_one_head, dropped_key };
inline const char* name_of(Spoil what) {
    switch (what) {
        case Spoil::heads_swapped: return "heads swapped";
        case Spoil::garbage_in_one_head: return "garbage in one head";
        case Spoil::lse_in_base_2_in_one_head: return "LSE in base 2 in one head";
        case Spoil::dropped_key: return "a dropped key";
    }
    return "?";
}

class Spoiler {
public:
    Spoiler(const Workload& w, const Inputs& in, HostOutputs& to) : w_(w), in_(in), to_(to) {}

    void apply(Spoil what) {
        switch (what) {
            case Spoil::heads_swapped: return each_row(&Spoiler::swap_heads);
            case Spoil::garbage_in_one_head: return each_row(&Spoiler::garbage);
            case Spoil::lse_in_base_2_in_one_head: return each_row(&Spoiler::base_2);
            case Spoil::dropped_key: return drop_key();
        }
    }

private:
    using Change = void (Spoiler::*)(std::int64_t token);

    void each_row(Change change) {
        for (std::int64_t token = 0; token < w_.tokens_q(); ++token) {
            (this->*change)(token);
        }
    }
    [[nodiscard]] double get(std::int64_t row, std::int64_t c) const {
        return load_element(to_.out.data(), w_.out_dtype(),
                            static_cast<std::size_t>(row * w_.headdim_v + c));
    }
    void put(std::int64_t row, std::int64_t c, double x) {
        store_element(to_.out.data(), w_.out_dtype(),
                      static_cast<std::size_t>(row * w_.headdim_v + c), x);
    }
    void swap_heads(std::int64_t token) {
        const std::int64_t a = token * w_.heads_q;
        const std::int64_t b = a + w_.heads_q - 1;
        for (std::int64_t c = 0; c < w_.headdim_v; ++c) {
            const double x = get(a, c);
            put(a, c, get(b, c));
            put(b, c, x);
        }
        std::swap(to_.lse[static_cast<std::size_t>(a)], to_.lse[static_cast<std::size_t>(b)]);
    }
    void garbage(std::int64_t token) {
        const std::int64_t row = token * w_.heads_q + w_.heads_q / 2;
        for (std::int64_t c = 0; c < w_.headdim_v; ++c) {
            const auto bits = random_bits(7, static_cast<std::uint64_t>(row * w_.headdim_v + c));
            put(row, c, 0.05 * normal_quantile(static_cast<std::uint16_t>(bits)));
        }
    }
    void base_2(std::int64_t token) {
        const std::int64_t row = token * w_.heads_q + w_.heads_q / 2;
        to_.lse[static_cast<std::size_t>(row)] *= std::numbers::log2e_v<float>;
    }

    /// As if no row of sequence 0 had seen the key in the middle.
    void drop_key() {
        const std::int64_t key = w_.length_k(0) / 2 + 3;
        for (std::int64_t head = 0; head < w_.heads_q; ++head) {
            const CacheReader cache(w_, in_, 0, head / w_.group());
            std::vector<float> k;
            std::vector<float> v;
            cache.keys(key, 1, k);
            cache.values(key, 1, v);
            for (std::int64_t row = 0; row < w_.length_q(0); ++row) {
                const auto [first, last] = w_.visible(0, row);
                if (key >= first && key < last) {
                    drop_from(row, head, cache, k, v);
                }
            }
        }
    }
    void drop_from(std::int64_t row, std::int64_t head, const CacheReader& cache,
                   const std::vector<float>& k, const std::vector<float>& v) {
        const std::vector<double> q = cache.query(row, head);
        double logit = 0;
        for (std::size_t c = 0; c < q.size(); ++c) {
            logit += q[c] * static_cast<double>(k[c]);
        }
        logit *= w_.scale_value() * cache.query_scale() * cache.key_scale();
        const std::int64_t at = row * w_.heads_q + head;
        float& lse = to_.lse[static_cast<std::size_t>(at)];
        const double weight = std::exp(logit - static_cast<double>(lse));
        for (std::int64_t c = 0; c < w_.headdim_v; ++c) {
            const double term = weight * cache.value_scale() * static_cast<double>(v[c]);
            put(at, c, (get(at, c) - term) / (1 - weight));
        }
        lse += static_cast<float>(std::log1p(-weight));
    }

    const Workload& w_;
    const Inputs& in_;
    HostOutputs& to_;
};

/// The first output that is not finite, as a kernel that swallowed it would have left it.
inline bool swallow_one(const Workload& w, HostOutputs& to) {
    for (std::size_t row = 0; row < to.lse.size(); ++row) {
        const auto first = row * static_cast<std::size_t>(w.headdim_v);
        for (std::int64_t c = 0; c < w.headdim_v; ++c) {
            const auto at = first + static_cast<std::size_t>(c);
            if (!std::isfinite(load_element(to.out.data(), w.out_dtype(), at))) {
                store_element(to.out.data(), w.out_dtype(), at, 0.25);
                return true;
            }
        }
    }
    return false;
}

}  // namespace raceline::test
