// SPDX-License-Identifier: Apache-2.0
#include "workload/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <unistd.h>

#include "support/check.hpp"
#include "workload/block_table.hpp"
#include "workload/normal.hpp"
#include "workload/nvfp4.hpp"

namespace raceline {
namespace {

enum Stream : std::uint64_t {
    stream_q,
    stream_k,
    stream_v,
    stream_sinks,
    stream_scales,
    stream_pages,
    stream_channels,
    stream_q_scales
};

constexpr std::byte nan_byte{0xff};  // all ones is NaN in every storage type
constexpr double outlier = 8;        // a power of two: exact in every type

std::vector<std::int32_t> prefix_sums(const std::vector<std::int64_t>& lengths) {
    std::vector<std::int32_t> sums{0};
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) {
        sum += length;
        require(sum <= std::numeric_limits<std::int32_t>::max(), Status::unsupported,
                "a packed batch of {} tokens or more: prefix sums are int32", sum);
        sums.push_back(static_cast<std::int32_t>(sum));
    }
    return sums;
}

/// Query rows alternate between two regimes, so that every workload meets both: plain rows weigh
/// many keys (a dropped page shows), outlier rows reach logits near ±100 and weigh few (a missed
/// rescale shows).
bool is_outlier_row(std::int64_t token, std::int64_t head, std::uint64_t seed) {
    return ((static_cast<std::uint64_t>(token + head) + seed) & 1) != 0;
}

/// The channel of K that is ×8 in every key. MLA takes it from the columns that are not V's.
std::int64_t outlier_channel(const Workload& w, std::uint64_t seed) {
    const std::uint64_t key = stream_key(seed, stream_channels);
    const std::int64_t from = w.mla && w.headdim > w.headdim_v ? w.headdim_v : 0;
    return from + static_cast<std::int64_t>(
                      random_below(key, 0, static_cast<std::uint64_t>(w.headdim - from)));
}

void amplify(std::byte* at, DType dtype, std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    store_element(at, dtype, i, outlier * load_element(at, dtype, i));
}

/// The first and the last value of every sequence, ×sqrt(length) in powers of two, at most 64: one
/// key of thousands weighs so little that a kernel which never read it would pass. Not for MLA,
/// whose values are its keys.
struct End {
    std::int64_t token;
    double factor;
};
std::vector<End> amplified_ends(const Workload& w) {
    std::vector<End> ends;
    std::int64_t start = 0;
    for (std::int64_t b = 0; b < w.batch; start += w.length_k(b++)) {
        const std::int64_t length = w.length_k(b);
        const double factor =
            std::min(64.0, std::exp2(std::floor(std::log2(static_cast<double>(length)) / 2)));
        if (length >= 16) {
            ends.push_back({start, factor});
            ends.push_back({start + length - 1, factor});
        }
    }
    return ends;
}

void amplify_ends(Inputs& in, const Workload& w, const std::vector<std::int64_t>& slots) {
    const std::int64_t run = w.heads_kv * w.headdim_v;
    for (const auto& [token, factor] : amplified_ends(w)) {
        for (std::int64_t i = slots[token] * run; i < (slots[token] + 1) * run; ++i) {
            const auto at = static_cast<std::size_t>(i);
            store_element(in.v.data(), w.kv_dtype, at,
                          factor * load_element(in.v.data(), w.kv_dtype, at));
        }
    }
}

void fill_queries(Inputs& in, const Workload& w, const InputOptions& options) {
    const std::int64_t run = w.heads_q * w.headdim;
    const std::size_t bytes = static_cast<std::size_t>(bytes_of(w.dtype)) * run;
    const std::uint64_t key = stream_key(options.seed, stream_q);
    const std::int64_t shared = outlier_channel(w, options.seed);
    const std::int64_t other = (shared + 1) % w.headdim;
    in.q.resize(bytes * w.tokens_q());
    fill_normal(in.q.data(), w.dtype, 0, key, 0);  // builds the table before threads need it
#pragma omp parallel for schedule(static)
    for (std::int64_t token = 0; token < w.tokens_q(); ++token) {
        std::byte* at = in.q.data() + bytes * token;
        fill_normal(at, w.dtype, run, key, token);
        for (std::int64_t head = 0; options.outliers && head < w.heads_q; ++head) {
            if (is_outlier_row(token, head, options.seed)) {
                amplify(at, w.dtype, head * w.headdim + shared);
                if (other != shared) {
                    amplify(at, w.dtype, head * w.headdim + other);
                }
            }
        }
    }
}

/// Fills a cache of `tokens` slots; slots that no token takes stay poisoned (or zero).
void fill_cache(std::vector<std::byte>& cache, const Workload& w, const InputOptions& options,
                const std::vector<std::int64_t>& slots, std::int64_t tokens, bool keys) {
    const std::int64_t width = keys ? w.headdim : w.headdim_v;
    const std::int64_t run = w.heads_kv * width;
    const std::size_t bytes = static_cast<std::size_t>(bytes_of(w.kv_dtype)) * run;
    const std::uint64_t key = stream_key(options.seed, keys ? stream_k : stream_v);
    const std::int64_t channel = outlier_channel(w, options.seed);
    const bool poisoned = options.poison && w.page_size != 0;
    cache.resize(bytes * tokens, poisoned ? nan_byte : std::byte{0});
    fill_normal(cache.data(), w.kv_dtype, 0, key, 0);
    const auto count = static_cast<std::int64_t>(slots.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t token = 0; token < count; ++token) {
        std::byte* at = cache.data() + bytes * slots[token];
        fill_normal(at, w.kv_dtype, run, key, token);
        for (std::int64_t head = 0; keys && options.outliers && head < w.heads_kv; ++head) {
            amplify(at, w.kv_dtype, head * width + channel);
        }
    }
}

/// The same in nvfp4, quantised a token at a time: outliers come before their block's scale.
void fill_nvfp4_cache(std::vector<std::byte>& cache, const Workload& w, const InputOptions& options,
                      const std::vector<std::int64_t>& slots, std::int64_t tokens, bool keys) {
    const std::int64_t width = keys ? w.headdim : w.headdim_v;
    const std::int64_t run = w.heads_kv * width;
    const Nvfp4Pages pages(w, run);
    const std::uint64_t key = stream_key(options.seed, keys ? stream_k : stream_v);
    const std::int64_t channel = outlier_channel(w, options.seed);
    const bool poisoned = options.poison && w.page_size != 0;
    cache.resize((tokens + pages.tokens - 1) / pages.tokens * pages.bytes(),
                 poisoned ? nan_byte : std::byte{0});
    std::vector<float> factors(slots.size(), 1);
    if (!keys && options.outliers) {
        for (const auto& [token, factor] : amplified_ends(w)) {
            factors[token] = static_cast<float>(factor);
        }
    }
    const auto count = static_cast<std::int64_t>(slots.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t token = 0; token < count; ++token) {
        std::vector<float> row(run);
        fill_normal(reinterpret_cast<std::byte*>(row.data()), DType::fp32, run, key, token);
        for (std::int64_t i = 0; i < run; ++i) {
            const bool loud = keys && options.outliers && i % width == channel;
            row[i] *= loud ? static_cast<float>(outlier) : factors[token];
        }
        store_nvfp4(cache.data() + slots[token] / pages.tokens * pages.bytes(), pages.elements,
                    slots[token] % pages.tokens * run, row);
    }
}

/// Logits of about the row's own LSE, so that a sink takes about half of the weight: one near 0
/// would vanish beside thousands of keys, and a kernel that ignored it would pass.
void fill_sinks(Inputs& in, const Workload& w, std::uint64_t seed) {
    const std::uint64_t key = stream_key(seed, stream_sinks);
    double keys = static_cast<double>(w.seqlen_k);
    if (w.window && w.window->left >= 0) {
        keys = std::min(keys, static_cast<double>(w.window->left + 1));
    }
    for (std::int64_t head = 0; head < w.heads_q; ++head) {
        const auto bits = static_cast<std::uint16_t>(random_bits(key, head));
        in.sinks.push_back(static_cast<float>(std::log(keys + 1) + normal_quantile(bits)));
    }
}

void fill_scales(Inputs& in, const Workload& w, std::uint64_t seed) {
    const std::uint64_t key = stream_key(seed, stream_scales);
    for (std::int64_t i = 0; i < w.batch * w.heads_kv; ++i) {
        in.k_scale.push_back(static_cast<float>(0.75 + 0.5 * random_unit(key, 2 * i)));
        in.v_scale.push_back(static_cast<float>(0.75 + 0.5 * random_unit(key, 2 * i + 1)));
    }
    if (w.mla) {
        in.v_scale = in.k_scale;  // one latent, one scale
    }
}

void fill_query_scales(Inputs& in, const Workload& w, std::uint64_t seed) {
    const std::uint64_t key = stream_key(seed, stream_q_scales);
    for (std::int64_t i = 0; i < w.batch * w.heads_kv; ++i) {
        in.q_scale.push_back(static_cast<float>(0.75 + 0.5 * random_unit(key, i)));
    }
}

Inputs build(const Workload& w, const InputOptions& options) {
    Inputs in;
    std::int64_t slots = w.tokens_k();
    if (!w.seqlens_q.empty()) {
        in.cu_seqlens_q = prefix_sums(w.seqlens_q);
    }
    if (w.page_size != 0) {
        slots = make_pages(in, w, options.poison, stream_key(options.seed, stream_pages));
    } else if (!w.seqlens_k.empty()) {
        in.cu_seqlens_k = prefix_sums(w.seqlens_k);
    }
    fill_queries(in, w, options);
    const std::vector<std::int64_t> where = token_slots(w, in);
    const bool nvfp4 = w.kv_dtype == DType::nvfp4;
    const auto fill = nvfp4 ? fill_nvfp4_cache : fill_cache;
    fill(in.k, w, options, where, slots, true);
    if (!w.mla) {
        fill(in.v, w, options, where, slots, false);
        if (options.outliers && !nvfp4) {
            amplify_ends(in, w, where);
        }
    }
    if (w.sinks) {
        fill_sinks(in, w, options.seed);
    }
    if (w.kv_dtype == DType::e4m3 || nvfp4) {
        fill_scales(in, w, options.seed);
    }
    if (w.dtype == DType::e4m3) {
        fill_query_scales(in, w, options.seed);
    }
    in.lse_elements = w.tokens_q() * w.heads_q;
    in.out_elements = in.lse_elements * w.headdim_v;
    return in;
}

}  // namespace

Inputs make_inputs(const Workload& workload, const InputOptions& options) {
    validate(workload);
    // Refused before anything is allocated: an operating system that overcommits would say yes and
    // kill the process later. The 8 bytes a token are the list of slots.
    const double cache = static_cast<double>(workload.tokens_k()) *
                         (8 + static_cast<double>(workload.heads_kv) * bytes_of(workload.kv_dtype) *
                                  static_cast<double>(workload.headdim + workload.headdim_v));
    const double bytes = workload.bytes_q() + cache;
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    require(bytes < memory, Status::unsupported,
            "inputs of {:.1f} GB do not fit this machine's memory of {:.1f} GB", bytes / 1e9,
            memory / 1e9);
    try {
        // Kernels count a packed run in one block of the random stream.
        require(workload.heads_q * workload.headdim <= static_cast<std::int64_t>(longest_run),
                Status::unsupported, "heads × head dim of {} is too many for one token's data",
                workload.heads_q * workload.headdim);
        return build(workload, options);
    } catch (const std::bad_alloc&) {
        fail(Status::unsupported, "inputs of {:.1f} GB do not fit this machine's memory",
             bytes / 1e9);
    } catch (const std::length_error&) {
        fail(Status::unsupported, "inputs of {:.1f} GB do not fit this machine's memory",
             bytes / 1e9);
    }
}

}  // namespace raceline
