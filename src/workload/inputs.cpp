// SPDX-License-Identifier: Apache-2.0
#include "workload/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <numeric>
#include <unistd.h>

#include "support/check.hpp"
#include "support/out_of_memory.hpp"
#include "support/rounding.hpp"
#include "workload/block_table.hpp"
#include "workload/normal.hpp"
#include "workload/nvfp4.hpp"
#include "workload/tree.hpp"

namespace raceline {
namespace {

constexpr std::byte nan_byte{0xff};  // all ones is NaN in every storage type

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

/// In float, as a device does it, then rounded into storage.
void change(std::byte* at, DType dtype, std::int64_t index, double factor, double bias) {
    const auto i = static_cast<std::size_t>(index);
    const auto x = static_cast<float>(load_element(at, dtype, i));
    const float y = x * static_cast<float>(factor) + static_cast<float>(bias);
    store_element(at, dtype, i, static_cast<double>(y));
}

void amplify(std::byte* at, DType dtype, std::int64_t index) {
    change(at, dtype, index, outlier_factor, 0);
}

void amplify_ends(Inputs& in, const Workload& w, const std::vector<std::int64_t>& slots,
                  std::uint64_t seed) {
    for (const LoudValue& loud : loud_values(w)) {
        const std::vector<std::byte> row = loud_value_row(w, seed, loud);
        std::memcpy(in.v.data() + row.size() * slots[loud.token], row.data(), row.size());
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
        for (std::int64_t i = 0; options.draw == Draw::peaked && i < run; ++i) {
            change(at, w.dtype, i, peak_factor, 0);
        }
        for (std::int64_t head = 0; options.draw == Draw::outliers && head < w.heads_q; ++head) {
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
        for (std::int64_t i = 0; options.draw == Draw::biased && i < run; ++i) {
            change(at, w.kv_dtype, i, 1, draw_bias);
        }
        for (std::int64_t head = 0; keys && options.draw == Draw::outliers && head < w.heads_kv;
             ++head) {
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
    cache.resize(divide_up(tokens, pages.tokens) * pages.bytes(),
                 poisoned ? nan_byte : std::byte{0});
    std::vector<float> factors(slots.size(), 1);
    if (!keys && options.draw == Draw::outliers) {
        for (const auto& [token, factor] : loud_values(w)) {
            factors[token] = static_cast<float>(factor);
        }
    }
    const auto count = static_cast<std::int64_t>(slots.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t token = 0; token < count; ++token) {
        std::vector<float> row(run);
        fill_normal(reinterpret_cast<std::byte*>(row.data()), DType::fp32, run, key, token);
        for (std::int64_t i = 0; i < run; ++i) {
            const bool loud = keys && options.draw == Draw::outliers && i % width == channel;
            row[i] *= loud ? static_cast<float>(outlier_factor) : factors[token];
            row[i] += options.draw == Draw::biased ? static_cast<float>(draw_bias) : 0.0F;
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

// Powers of two and something between: a scale that a kernel takes from another token is seen.
void fill_token_scales(Inputs& in, const Workload& w, const InputOptions& options) {
    const std::uint64_t key = stream_key(options.seed, stream_scales);
    const std::int64_t run = w.page_size != 0 ? w.page_size : w.seqlen_k;
    in.scale_strides = options.draw == Draw::biased
                           ? Inputs::ScaleStrides{run * w.heads_kv, w.heads_kv, 1}
                           : Inputs::ScaleStrides{run * w.heads_kv, 1, run};
    // Of a packed batch lengths differ: all tokens of a head are one run.
    const bool packed = w.page_size == 0 && !w.seqlens_k.empty();
    if (packed && options.draw != Draw::biased) {
        in.scale_strides = {0, 1, w.tokens_k()};
    }
    const auto count = static_cast<std::size_t>(in.slots * w.heads_kv);
    const float unused = options.poison ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
    in.k_token_scale.assign(count, unused);
    in.v_token_scale.assign(count, unused);
    for (const std::int64_t slot : token_slots(w, in)) {
        const std::int64_t outer = packed ? 0 : slot / run;
        const std::int64_t token = packed ? slot : slot % run;
        for (std::int64_t head = 0; head < w.heads_kv; ++head) {
            const std::int64_t at = outer * in.scale_strides.batch +
                                    token * in.scale_strides.token + head * in.scale_strides.head;
            const std::uint64_t n = 4 * static_cast<std::uint64_t>(slot * w.heads_kv + head);
            const auto drawn = [&](std::uint64_t i) {
                const int power = static_cast<int>(random_bits(key, n + i) % 5) - 2;
                return static_cast<float>(
                    std::ldexp(0.75 + 0.5 * random_unit(key, n + i + 1), power));
            };
            in.k_token_scale[static_cast<std::size_t>(at)] = drawn(0);
            in.v_token_scale[static_cast<std::size_t>(at)] = drawn(2);
        }
    }
}

void fill_query_scales(Inputs& in, const Workload& w, std::uint64_t seed) {
    const std::uint64_t key = stream_key(seed, stream_q_scales);
    for (std::int64_t i = 0; i < w.batch * w.heads_kv; ++i) {
        in.q_scale.push_back(static_cast<float>(0.75 + 0.5 * random_unit(key, i)));
    }
}

void place_non_finite(Inputs& in, const Workload& w, const std::vector<std::int64_t>& slots,
                      std::uint64_t seed) {
    for (const NonFinite& one : non_finite_places(w, seed)) {
        std::vector<std::byte>& to = one.tensor == NonFinite::Tensor::q   ? in.q
                                     : one.tensor == NonFinite::Tensor::k ? in.k
                                                                          : in.v;
        const StoredElement at = stored_element(w, one, slots);
        store_element(to.data(), at.dtype, at.index, one.value);
    }
}

void fill_data(Inputs& in, const Workload& w, const InputOptions& options) {
    fill_queries(in, w, options);
    const std::vector<std::int64_t> where = token_slots(w, in);
    const bool nvfp4 = w.kv_dtype == DType::nvfp4;
    const auto fill = nvfp4 ? fill_nvfp4_cache : fill_cache;
    fill(in.k, w, options, where, in.slots, true);
    if (!w.mla) {
        fill(in.v, w, options, where, in.slots, false);
        if (options.draw == Draw::outliers && !nvfp4) {
            amplify_ends(in, w, where, options.seed);
        }
    }
    if (options.draw == Draw::non_finite) {
        place_non_finite(in, w, where, options.seed);
    }
}

Inputs build(const Workload& w, const InputOptions& options) {
    Inputs in;
    in.slots = w.tokens_k();
    if (!w.seqlens_q.empty()) {
        in.cu_seqlens_q = prefix_sums(w.seqlens_q);
    }
    if (w.page_size != 0) {
        in.slots = make_pages(in, w, options.poison, stream_key(options.seed, stream_pages));
    } else if (!w.seqlens_k.empty()) {
        in.cu_seqlens_k = prefix_sums(w.seqlens_k);
    }
    const auto row_bytes = [&](std::int64_t rows, std::int64_t width, DType dtype) {
        const double bytes = static_cast<double>(rows * width) * bytes_of(dtype);
        return static_cast<std::size_t>(bytes);
    };
    in.q_bytes = row_bytes(w.tokens_q(), w.heads_q * w.headdim, w.dtype);
    in.k_bytes = row_bytes(in.slots, w.heads_kv * w.headdim, w.kv_dtype);
    in.v_bytes = w.mla ? 0 : row_bytes(in.slots, w.heads_kv * w.headdim_v, w.kv_dtype);
    if (options.data || w.kv_dtype == DType::nvfp4) {
        fill_data(in, w, options);
        in.k_bytes = in.k.size();  // of nvfp4, which has scales between its elements
        in.v_bytes = in.v.size();
    }
    if (w.sinks) {
        fill_sinks(in, w, options.seed);
    }
    if (w.tree != 0) {
        in.tree = stored_trees(w, options.seed, options.poison);
    }
    if (w.has_token_scales()) {
        fill_token_scales(in, w, options);
    } else if (w.kv_dtype == DType::e4m3 || w.kv_dtype == DType::nvfp4) {
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

std::vector<LoudValue> loud_values(const Workload& w) {
    std::vector<LoudValue> loud;
    std::int64_t start = 0;
    for (std::int64_t b = 0; b < w.batch; start += w.length_k(b++)) {
        const std::int64_t length = w.length_k(b);
        const double factor =
            std::min(64.0, std::exp2(std::floor(std::log2(static_cast<double>(length)) / 2)));
        if (length >= 16) {
            loud.push_back({start, factor});
            loud.push_back({start + length - 1, factor});
        }
    }
    return loud;
}

std::vector<std::byte> loud_value_row(const Workload& w, std::uint64_t seed,
                                      const LoudValue& which) {
    const std::int64_t run = w.heads_kv * w.headdim_v;
    std::vector<std::byte> row(static_cast<std::size_t>(bytes_of(w.kv_dtype)) * run);
    fill_normal(row.data(), w.kv_dtype, run, stream_key(seed, stream_v), which.token);
    for (std::int64_t i = 0; i < run; ++i) {
        change(row.data(), w.kv_dtype, i, which.factor, 0);
    }
    return row;
}

SeenKeys seen_keys_of(const Workload& w, const Inputs& in, std::int64_t sequence,
                      std::int64_t row) {
    if (w.tree == 0) {
        return seen_keys_of(w, sequence, row, 0);
    }
    const std::int64_t first =
        in.cu_seqlens_q.empty() ? sequence * w.seqlen_q : in.cu_seqlens_q[sequence];
    return seen_keys_of(w, sequence, row, in.tree[first + row]);
}

Inputs make_inputs(const Workload& workload, const InputOptions& options) {
    validate(workload);
    // Refused before anything is allocated: an operating system that overcommits would say yes and
    // kill the process later. The 8 bytes a token are the list of slots.
    const double cache = static_cast<double>(workload.tokens_k()) *
                         (8 + static_cast<double>(workload.heads_kv) * bytes_of(workload.kv_dtype) *
                                  static_cast<double>(workload.headdim + workload.headdim_v));
    const double bytes =
        options.data || workload.kv_dtype == DType::nvfp4 ? workload.bytes_q() + cache : 0;
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
        // A limit of the process may be far below the machine's memory.
        throw OutOfMemory(fmt::format(
            "inputs of {:.1f} GB do not fit the memory that this process gets", bytes / 1e9));
    } catch (const std::length_error&) {
        throw OutOfMemory(fmt::format(
            "inputs of {:.1f} GB do not fit the memory that this process gets", bytes / 1e9));
    }
}

}  // namespace raceline
