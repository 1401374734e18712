// SPDX-License-Identifier: Apache-2.0
#include "workload/draw.hpp"

#include <algorithm>
#include <limits>

#include "workload/normal.hpp"

namespace raceline {
namespace {

constexpr std::int64_t most_sequences = 4;

/// Draws places of one workload, one random number after the other.
class Places {
public:
    Places(const Workload& w, std::uint64_t seed)
        : w_(w), key_(stream_key(seed, stream_non_finite)) {}

    std::vector<NonFinite> all() {
        const std::int64_t count = std::min(w_.batch, most_sequences);
        const std::int64_t first = below(w_.batch);
        for (std::int64_t i = 0; i < count; ++i) {
            // Neighbours, so that what leaks from one sequence into the next is seen.
            place_in((first + i) % w_.batch);
        }
        return std::move(places_);
    }

private:
    using Tensor = NonFinite::Tensor;

    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(
            random_below(key_, counter_++, static_cast<std::uint64_t>(bound)));
    }

    double value(DType dtype) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const std::int64_t kind = dtype == DType::e4m3 ? 0 : below(3);  // e4m3 has no infinity
        return kind == 0   ? std::numeric_limits<double>::quiet_NaN()
               : kind == 1 ? infinity
                           : -infinity;
    }

    /// Under a window nearly no key is seen by a call of few rows. One that none sees shows what
    /// leaks, one that a row sees what is swallowed: that more often.
    std::int64_t key_in(std::int64_t b) {
        if (w_.window && below(4) != 0) {
            const auto [first, last] = w_.visible(b, below(w_.length_q(b)));
            if (first < last) {
                return first + below(last - first);
            }
        }
        if (w_.tree != 0 && below(2) != 0) {  // a new key, which some rows see and others do not
            const std::int64_t fresh = std::min(w_.length_k(b), w_.length_q(b));
            return w_.length_k(b) - fresh + below(fresh);
        }
        return below(w_.length_k(b));
    }

    void place_in(std::int64_t b) {
        const std::int64_t rows = w_.length_q(b);
        const std::int64_t keys = w_.length_k(b);
        if (rows == 0 || keys == 0) {
            return;
        }
        for (int i = 0; i < 2; ++i) {
            places_.push_back(
                {Tensor::q, b, below(rows), below(w_.heads_q), below(w_.headdim), value(w_.dtype)});
        }
        if (w_.kv_dtype == DType::nvfp4) {
            return;
        }
        // Under a full mask a key that is no number takes its whole KV head along, so that it gets
        // one of its own; where there is only one, a coin decides between key and value.
        const std::int64_t head = below(w_.heads_kv);
        const bool both = w_.heads_kv > 1;
        const bool key = both || below(2) == 0;
        if (key) {
            const std::int64_t from = w_.mla && w_.headdim > w_.headdim_v ? w_.headdim_v : 0;
            places_.push_back({Tensor::k, b, key_in(b), head, from + below(w_.headdim - from),
                               value(w_.kv_dtype)});
        }
        if (both || !key) {
            places_.push_back({w_.mla ? Tensor::k : Tensor::v, b, key_in(b),
                               (head + 1) % w_.heads_kv, below(w_.headdim_v), value(w_.kv_dtype)});
        }
    }

    const Workload& w_;
    std::uint64_t key_, counter_ = 0;
    std::vector<NonFinite> places_;
};

}  // namespace

std::string_view name_of(Draw draw) {
    switch (draw) {
        case Draw::plain: return "plain";
        case Draw::outliers: return "outliers";
        case Draw::biased: return "biased";
        case Draw::peaked: return "peaked";
        case Draw::non_finite: return "non_finite";
    }
    return "?";
}

std::int64_t outlier_channel(const Workload& w, std::uint64_t seed) {
    const std::uint64_t key = stream_key(seed, stream_channels);
    const std::int64_t from = w.mla && w.headdim > w.headdim_v ? w.headdim_v : 0;
    return from + static_cast<std::int64_t>(
                      random_below(key, 0, static_cast<std::uint64_t>(w.headdim - from)));
}

bool NonFinite::in_value(const Workload& w) const {
    return tensor == Tensor::v || (w.mla && tensor == Tensor::k && channel < w.headdim_v);
}

std::vector<NonFinite> non_finite_places(const Workload& w, std::uint64_t seed) {
    return w.batch > 0 ? Places(w, seed).all() : std::vector<NonFinite>();
}

}  // namespace raceline
