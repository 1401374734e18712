// SPDX-License-Identifier: Apache-2.0
// Seeded data for a workload, laid out as a caller of the library would, with every trap that the
// design asks for: outliers, poisoned pages, garbage past the end of block tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workload/attention_call.hpp"
#include "workload/draw.hpp"
#include "workload/seen_keys.hpp"
#include "workload/workload.hpp"

namespace raceline {

struct InputOptions {
    std::uint64_t seed = 1;
    Draw draw = Draw::outliers;
    bool poison = true;  ///< NaN in unused pages and past the end of every sequence's cache
    bool data = true;    ///< false: lengths, tables and scales alone; q, k and v stay empty
};

/// Host copies. Contiguous layouts: fixed length (batch, seqlen, heads, headdim); ragged packed
/// (total, heads, headdim) with cu_seqlens; paged (pages, page_size, heads_kv, headdim) with a
/// shuffled block table and seqlens_k. MLA: `v` is empty and V is read from `k`. nvfp4: nvfp4.hpp
/// says what a page is.
struct Inputs {
    std::vector<std::byte> q, k, v;
    std::vector<float> sinks;
    /// A word a query token, packed like q: the drawn tree, and in the bits behind the sequence's
    /// last token garbage. Empty without a tree.
    std::vector<std::uint32_t> tree;
    std::vector<std::int32_t> cu_seqlens_q, cu_seqlens_k, seqlens_k, block_table;
    std::int64_t block_table_stride = 0;
    std::vector<float> k_scale,
        v_scale;                 ///< (batch, heads_kv), keys and values in 8 or 4 bits only
    std::vector<float> q_scale;  ///< (batch, heads_kv), e4m3 queries only
    /// A float for each slot and KV head, NaN in slots that no key has (scale_strides says where);
    /// empty unless the workload has scales of tokens. k_scale and v_scale are empty then.
    std::vector<float> k_token_scale, v_token_scale;
    /// Of scales of tokens, in elements: from one sequence or page to the next, from token to
    /// token, from head to head. Tokens lie side by side, but of Draw::biased heads do.
    struct ScaleStrides {
        std::int64_t batch = 0, token = 0, head = 0;
    };
    ScaleStrides scale_strides;

    /// Tokens that the cache has room for: those of the batch, or of all pages.
    std::int64_t slots = 0;
    std::size_t q_bytes = 0, k_bytes = 0, v_bytes = 0;  ///< of q, k and v, filled or not
    /// Elements of the output, packed like q with headdim_v, and of the LSE, (total_q, heads_q).
    std::size_t out_elements = 0;
    std::size_t lse_elements = 0;
};
Inputs make_inputs(const Workload& workload, const InputOptions& options);
/// What row `row` of a sequence sees, by these inputs' tree if the workload has one.
SeenKeys seen_keys_of(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                      std::int64_t row);

/// Rows of V that Draw::outliers makes larger than a fill with normals does: the first and last of
/// every sequence, by a factor. Tokens count over the batch, as block_table.hpp's slots do.
struct LoudValue {
    std::int64_t token;
    double factor;
};
std::vector<LoudValue> loud_values(const Workload& workload);
/// One token's values (heads_kv, headdim_v) as Draw::outliers stores them. Not for nvfp4.
std::vector<std::byte> loud_value_row(const Workload& workload, std::uint64_t seed,
                                      const LoudValue& which);

/// Device (or host) addresses of what Inputs holds.
struct InputPointers {
    void *q = nullptr, *k = nullptr, *v = nullptr, *out = nullptr;
    float* lse = nullptr;
    const float* sinks = nullptr;
    const std::uint32_t* tree = nullptr;
    const std::int32_t *cu_seqlens_q = nullptr, *cu_seqlens_k = nullptr, *seqlens_k = nullptr;
    const std::int32_t* block_table = nullptr;
    const float *k_scale = nullptr, *v_scale = nullptr, *q_scale = nullptr;
    const float *k_token_scale = nullptr, *v_token_scale = nullptr;
};
/// Of inputs on the host, null where there are none. The output and the LSE are the caller's.
InputPointers pointers_into(const Inputs& inputs);
/// The arguments of a launch over such inputs: strides, lengths, masks folded.
AttentionCall make_args(const Workload& workload, const Inputs& inputs, const InputPointers& at);
/// All of the arguments that follow from the workload alone: sizes, types, mask, scale, softcap.
void set_sizes(AttentionArgs& args, const Workload& workload);

/// Element i of packed storage as double, and a value rounded into storage. nvfp4 is refused.
double load_element(const std::byte* base, DType dtype, std::size_t index);
void store_element(std::byte* base, DType dtype, std::size_t index, double value);

}  // namespace raceline
