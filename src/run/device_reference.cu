// SPDX-License-Identifier: Apache-2.0
#include "run/device_reference.hpp"
#include "run/device_tile.cuh"
#include "timing/cuda_runtime.hpp"

namespace raceline::device_gate {
namespace {

/// Order of the keys of a tile: blocks of 64 from a start on, then those before it.
struct KeyOrder {
    std::int64_t first, start, last;
    __device__ __forceinline__ KeyOrder(const KeySpan& keys, double part)
        : first(keys.first),
          start(keys.first +
                static_cast<std::int64_t>(part * static_cast<double>(keys.last - keys.first))),
          last(keys.last) {}
    [[nodiscard]] __device__ __forceinline__ std::int64_t blocks() const {
        return blocks_in(last - start) + blocks_in(start - first);
    }
    /// Keys of block n; none is cut in two.
    [[nodiscard]] __device__ __forceinline__ KeySpan block(std::int64_t n) const {
        const std::int64_t behind = blocks_in(last - start);
        const std::int64_t at =
            n < behind ? start + n * tile_keys : first + (n - behind) * tile_keys;
        const std::int64_t end = n < behind ? last : start;
        return {at, at + tile_keys < end ? at + tile_keys : end};
    }
    static __device__ __forceinline__ std::int64_t blocks_in(std::int64_t keys) {
        return (keys + tile_keys - 1) / tile_keys;
    }
};

/// The logits of a tile's rows against blocks of keys.
template <class T, Sum kind>
struct Scorer {
    const DrawnCall& p;
    const Steps& steps;
    const RowTile& tile;
    T* memory;
    PlacedRow rows[4];  ///< of this thread
    SeenKeys row_keys[4];
    double scale;
    int depth;                          ///< padded head dim
    std::int64_t rows_from, keys_from;  ///< of the tile, in Operands

    __device__ __forceinline__ Scorer(const DrawnCall& problem, const Steps& how, const RowTile& of,
                                      T* shared)
        : p(problem), steps(how), tile(of), memory(shared) {
        const int ty = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            rows[i] = place(p, tile, ty * 4 + i);
            row_keys[i] = rows[i].token < 0 ? SeenKeys{0, 0} : p.row_keys[rows[i].token];
        }
        depth = static_cast<int>(padded(p.headdim));
        rows_from = first_row(p, tile) + tile.first_row;
        keys_from = first_key(p, tile);
        scale = accumulated(p.scale * scale_of(p.q_scale, p, tile) * scale_of(p.k_scale, p, tile));
    }

    /// What is done with a tensor core's sums rounds to nearest; only its own additions cut.
    [[nodiscard]] static __device__ __forceinline__ double accumulated(double x) {
        return sizeof(T) == sizeof(double) ? x : static_cast<double>(__double2float_rn(x));
    }

    [[nodiscard]] __device__ __forceinline__ double logit(T product, std::int64_t key) const {
        const double own = scale_of_key(p.key_scales, keys_from + key);
        const double s = accumulated(accumulated(static_cast<double>(product) * own) * scale);
        if (p.softcap == 0) {
            return s;
        }
        const double cap = accumulated(p.softcap);
        double bent = tanh(accumulated(s / cap));
        if constexpr (sizeof(T) != sizeof(double)) {
            bent = round_to(bent, steps.precision.exponentials);
        }
        return accumulated(cap * bent);
    }

    /// Logits of the block; -inf for keys that a row does not see.
    __device__ __forceinline__ void score(const KeySpan& keys, double (&logits)[4][4]) {
        T s[4][4];
        const Copied row{
            copied_row() < tile.rows ? p.operands.q + (rows_from + copied_row()) * depth : nullptr};
        const std::int64_t at_key = keys.first + copied_row();
        const Copied key{at_key < keys.last ? p.operands.k + (keys_from + at_key) * depth
                                            : nullptr};
        score_tile<kind>(s, depth, row, key, memory);
        if constexpr (kind == Sum::e4m3) {
            if (steps.precision.padded_products) {
                cut_again(s);
            }
        }
        const int tx = static_cast<int>(threadIdx.x) % 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const std::int64_t at = keys.first + tx * 4 + j;
                const bool seen = at < keys.last && row_keys[i].sees(at);
                logits[i][j] = seen ? logit(s[i][j], at) : -static_cast<double>(INFINITY);
            }
        }
    }
};

/// Over the 16 threads that share rows.
template <class Combine>
__device__ __forceinline__ double over_row(double x, const Combine& combine) {
    for (int lanes = 1; lanes < 16; lanes *= 2) {
        x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}
/// The larger one, NaN if either is.
__device__ __forceinline__ double larger(double a, double b) {
    return a != a || b != b ? a + b : fmax(a, b);
}

template <class T, Sum kind>
__global__ void __launch_bounds__(threads)
    find_largest(const __grid_constant__ DrawnCall p, const __grid_constant__ Steps steps,
                 const __grid_constant__ Answers to) {
    extern __shared__ double shared[];
    const RowTile tile = p.tiles[blockIdx.x];
    Scorer<T, kind> scorer(p, steps, tile, reinterpret_cast<T*>(shared));
    const KeyOrder order(tile.keys, steps.first_key);
    double largest[4];
#pragma unroll
    for (double& x : largest) {
        x = -static_cast<double>(INFINITY);
    }
    for (std::int64_t n = 0; n < order.blocks(); ++n) {
        double logits[4][4];
        scorer.score(order.block(n), logits);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                largest[i] = larger(largest[i], logits[i][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const double all = over_row(largest[i], larger);
        if (threadIdx.x % 16 == 0 && scorer.rows[i].token >= 0) {
            to.largest[scorer.rows[i].index(p)] = all;
        }
    }
}

/// What a thread keeps of its four rows.
template <class T>
struct RowSums {
    T out[4][columns_each];
    double sum[4], squares[4];
};

/// Sums of exponentials in float, one key after the other, as a kernel may add them up.
template <class T>
__device__ __forceinline__ void add_in_order(const float (&exponentials)[4][4], RowSums<T>& sums) {
    const int first_lane = static_cast<int>(threadIdx.x) % 32 / 16 * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        auto sum = static_cast<float>(sums.sum[i]);
        for (int lane = 0; lane < 16; ++lane) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                sum += __shfl_sync(0xFFFFFFFFU, exponentials[i][j], first_lane + lane);
            }
        }
        sums.sum[i] = static_cast<double>(sum);
    }
}

template <class T, Sum kind>
__device__ __forceinline__ void finish(const Scorer<T, kind>& scorer, const Steps& steps,
                                       RowSums<T>& sums, int column, const Answers& to) {
    const DrawnCall& p = scorer.p;
    const double value_scale = scorer.accumulated(scale_of(p.v_scale, p, scorer.tile));
    const double divisor = kind == Sum::e4m3 ? steps.probability_scale : 1;
    const auto add = [](double a, double b) { return a + b; };
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        // Of a rounded answer every thread of the row has the whole sum already.
        double sum = sizeof(T) == sizeof(double) ? over_row(sums.sum[i], add) : sums.sum[i];
        const double squares = over_row(sums.squares[i], add);
        const PlacedRow at = scorer.rows[i];
        if (at.token < 0) {
            continue;
        }
        const std::int64_t row = at.index(p);
        const double largest = to.largest[row];
        const bool empty = largest == -static_cast<double>(INFINITY);
        const double sink = p.sinks != nullptr ? static_cast<double>(p.sinks[at.head])
                                               : -static_cast<double>(INFINITY);
        if (p.sinks != nullptr && !empty) {
            sum = scorer.accumulated(sum + exp(sink - largest));
        }
        T* const out = static_cast<T*>(to.out) + row * p.headdim_v;
#pragma unroll
        for (int c = 0; c < columns_each; ++c) {
            double x = 0;
            if (column + c >= p.headdim_v) {
                break;
            }
            if (!empty) {
                x = scorer.accumulated(static_cast<double>(sums.out[i][c]) / (sum * divisor));
                x = scorer.accumulated(x * value_scale);
            }
            if constexpr (sizeof(T) != sizeof(double)) {
                x = round_to(x, steps.precision.output);
            }
            out[column + c] = static_cast<T>(x);
        }
        if (column == 0) {
            to.lse[row] = empty ? sink : scorer.accumulated(largest + scorer.accumulated(log(sum)));
            if (to.sum != nullptr) {
                to.sum[row] = sum;
            }
            if (to.spread != nullptr) {
                to.spread[row] = empty ? 0 : sqrt(squares) * value_scale / sum;
            }
        }
    }
}

template <class T, Sum kind>
__global__ void __launch_bounds__(threads)
    answer(const __grid_constant__ DrawnCall p, const __grid_constant__ Steps steps,
           const __grid_constant__ Answers to) {
    extern __shared__ double shared[];
    constexpr bool exact = sizeof(T) == sizeof(double);
    const std::int64_t promotion_blocks =
        max(std::int64_t{1}, steps.precision.promoted_keys / tile_keys);
    auto* const memory = reinterpret_cast<T*>(shared);
    T* const probabilities = memory + 2 * depth_step * pitch<T>;
    T* const values = memory;  // scores are done with when values are needed
    const RowTile tile = p.tiles[blockIdx.x];
    Scorer<T, kind> scorer(p, steps, tile, memory);
    const KeyOrder order(tile.keys, steps.first_key);
    const int chunk = static_cast<int>(blockIdx.y) * chunk_columns;
    const int width = static_cast<int>(padded(p.headdim_v));
    const int tx = static_cast<int>(threadIdx.x) % 16;
    const int ty = static_cast<int>(threadIdx.x) / 16;

    RowSums<T> sums{};
    T part[4][columns_each]{};  // of the tensor core, until they are added up in fp32
    double largest[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const PlacedRow at = scorer.rows[i];
        largest[i] = at.token < 0 ? 0 : to.largest[at.index(p)];
    }
    const auto promote = [&] {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int c = 0; c < columns_each; ++c) {
                sums.out[i][c] += part[i][c];
                part[i][c] = 0;
            }
        }
    };
    for (std::int64_t n = 0; n < order.blocks(); ++n) {
        const KeySpan keys = order.block(n);
        double logits[4][4];
        float exponentials[4][4];
        scorer.score(keys, logits);
        __syncthreads();  // the probabilities before are done with
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                // A masked key is no term at all, whatever the row's largest logit is.
                const std::int64_t key = keys.first + tx * 4 + j;
                const bool seen = key < keys.last && scorer.row_keys[i].sees(key) &&
                                  largest[i] != -static_cast<double>(INFINITY);
                double x = seen ? exp(scorer.accumulated(logits[i][j] - largest[i])) : 0;
                if constexpr (!exact) {
                    x = round_to(x, steps.precision.exponentials);
                }
                const std::int64_t at = scorer.keys_from + key;
                if constexpr (exact) {
                    sums.sum[i] += x;
                    x *= seen ? scale_of_key(p.value_scales, at) : 1;
                    sums.squares[i] +=
                        x != 0 ? x * x * static_cast<double>(p.operands.mean_squares[at]) : 0;
                } else {
                    exponentials[i][j] = static_cast<float>(x);
                    x *= seen ? scale_of_key(p.value_scales, at) : 1;
                    // Short products stay short: of narrow sums the answer is divided instead.
                    x = round_to(x * steps.probability_scale, steps.precision.probabilities) /
                        (kind == Sum::e4m3 ? 1 : steps.probability_scale);
                }
                probabilities[(tx * 4 + j) * pitch<T> + ty * 4 + i] = static_cast<T>(x);
            }
        }
        if constexpr (!exact) {
            add_in_order(exponentials, sums);
        }
        const auto value_of = [&](int k) {
            const std::int64_t key = keys.first + k;
            return key < keys.last ? p.operands.v + (scorer.keys_from + key) * width + chunk
                                   : nullptr;
        };
        value_tile<kind>(kind == Sum::e4m3 ? part : sums.out, probabilities, value_of,
                         width - chunk, values);
        if (kind == Sum::e4m3 && steps.precision.promoted_keys > 0 &&
            (n + 1) % promotion_blocks == 0) {
            promote();
        }
    }
    promote();
    finish(scorer, steps, sums, chunk + tx * columns_each, to);
}

/// Rows of a packed tensor (tokens or slots, heads, width) to (sequence, head, token), padded.
__global__ void gather_rows(const __grid_constant__ DrawnCall p, const void* from, DType dtype,
                            float* to, float* mean_squares, std::int64_t tokens,
                            const std::int64_t* starts, const std::int64_t* slots, int heads,
                            int together, int pitch_from, int width, Rounding products,
                            std::int64_t first_channel) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int wide = static_cast<int>(padded(width));
    for (std::int64_t n = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
         n < tokens * heads; n += std::int64_t{gridDim.x} * blockDim.x / 32) {
        const std::int64_t token = n / heads;
        const auto head = static_cast<int>(n % heads);
        std::int64_t low = 0;  // the sequence of the token, by bisection
        for (std::int64_t high = p.batch; high - low > 1;) {
            const std::int64_t middle = (low + high) / 2;
            (starts[middle] <= token ? low : high) = middle;
        }
        const std::int64_t length = starts[low + 1] - starts[low];
        const std::int64_t within = token - starts[low];
        // `together` heads of a token are neighbours: those of a group of query heads.
        const std::int64_t row = starts[low] * heads + head / together * length * together +
                                 within * together + head % together;
        const std::int64_t slot = slots != nullptr ? slots[token] : token;
        float sum = 0;
        for (int c = lane; c < wide; c += 32) {
            float x = 0;
            if (c < width) {
                const std::int64_t at = c + first_channel;
                x = load(from, dtype,
                         (slot * heads + head) * pitch_from + (at < width ? at : at - width));
                x = products == Rounding::fp64
                        ? x
                        : static_cast<float>(round_to(static_cast<double>(x), products));
            }
            to[row * wide + c] = x;
            sum = fmaf(x, x, sum);
        }
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, lanes);
        }
        if (mean_squares != nullptr && lane == 0) {
            mean_squares[row] = sum / static_cast<float>(width);
        }
    }
}

template <class T, Sum kind>
void launch(const DrawnCall& problem, const Steps& steps, const Answers& answers) {
    if (problem.tile_count == 0) {
        return;
    }
    constexpr int bytes = shared_bytes<T>();
    const auto allow = [](const void* kernel) {
        return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    };
    allow(reinterpret_cast<const void*>(find_largest<T, kind>));
    allow(reinterpret_cast<const void*>(answer<T, kind>));
    const auto tiles = static_cast<unsigned>(problem.tile_count);
    find_largest<T, kind><<<tiles, threads, bytes>>>(problem, steps, answers);
    cuda::check_launch("the gate's search for the largest logits");
    const unsigned chunks = (problem.headdim_v + chunk_columns - 1) / chunk_columns;
    answer<T, kind><<<dim3(tiles, chunks), threads, bytes>>>(problem, steps, answers);
    cuda::check_launch("the gate's answer");
}

}  // namespace

void gather(const DrawnCall& p, const Operands& to, Rounding products, std::int64_t first_channel) {
    constexpr unsigned blocks = 4096;
    constexpr unsigned wide = 256;
    const int group = p.heads_q / p.heads_kv;
    gather_rows<<<blocks, wide>>>(p, p.q, p.dtype, to.q, nullptr, p.tokens_q, p.start_q, nullptr,
                                  p.heads_q, group, p.headdim, p.headdim, products, first_channel);
    gather_rows<<<blocks, wide>>>(p, p.k, p.kv_dtype, to.k, nullptr, p.tokens_k, p.start_k, p.slots,
                                  p.heads_kv, 1, p.headdim, p.headdim, products, first_channel);
    gather_rows<<<blocks, wide>>>(p, p.v, p.kv_dtype, to.v, to.mean_squares, p.tokens_k, p.start_k,
                                  p.slots, p.heads_kv, 1, p.pitch_v, p.headdim_v, products, 0);
    cuda::check_launch("the gate's gathering of inputs");
}

bool serves(const Precision& precision) {
    return precision.accumulators == Rounding::fp32 ||
           precision.accumulators == Rounding::fp32_rz ||
           precision.accumulators == Rounding::e4m3_sum;
}

void answer_exactly(const DrawnCall& problem, const Answers& answers) {
    launch<double, Sum::nearest>(problem, {}, answers);
}

void answer_rounded(const DrawnCall& problem, const Steps& steps, const Answers& answers) {
    switch (steps.precision.accumulators) {
        case Rounding::fp32_rz: launch<float, Sum::toward_zero>(problem, steps, answers); break;
        case Rounding::e4m3_sum: launch<float, Sum::e4m3>(problem, steps, answers); break;
        default: launch<float, Sum::nearest>(problem, steps, answers); break;
    }
}

}  // namespace raceline::device_gate
