// SPDX-License-Identifier: Apache-2.0
// The C++ API: attention over views of the caller's memory, and its predicted time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "raceline/accuracy.hpp"
#include "raceline/dtype.hpp"
#include "raceline/error.hpp"

namespace raceline {

/// A strided view of the caller's memory. Shape and strides are in elements, strides are zero or
/// positive; the last dimension must be contiguous (stride 1), except in an LSE, which may have
/// any. Inputs may repeat elements (stride 0), outputs may not. No ownership.
struct TensorView {
    void* data = nullptr;               ///< address of the first element
    DType dtype = DType::fp32;          ///< type of the elements
    std::vector<std::int64_t> shape;    ///< sizes, the outermost first
    std::vector<std::int64_t> strides;  ///< elements from one index to the next, as many as sizes

    /// A row-major contiguous view.
    static TensorView contiguous(void* data, DType dtype, std::vector<std::int64_t> shape);
};

/// Options of every attention call. Offsets and LSE as in docs/architecture.md: causal and windows
/// align bottom-right, LSE is natural-log float32 and includes the sink.
///
/// Without `backend` the kernel and its tile with the least predicted time run. The choice knows
/// committed and datasheet rates only, never this user's measurements, so that one call takes one
/// tile on every machine of a kind.
struct AttentionOptions {
    bool causal = false;  ///< a query sees no key after its own position

    /// Keys left and right of a query's position, inclusive; negative: unbounded. None: all.
    std::optional<std::pair<std::int64_t, std::int64_t>> window;
    std::optional<double> scale;   ///< none: 1 / sqrt(headdim)
    double softcap = 0;            ///< 0: none
    const float* sinks = nullptr;  ///< heads_q logits on the same device, or null
    std::string backend;           ///< a kernel's name; empty: chosen by the model

    /// Decode: reads the block table and the tree, which synchronises on a GPU, and refuses a page
    /// index or a bit that is out of range.
    bool checked = false;
    int threads = 0;                         ///< CPU; 0: all
    Accuracy accuracy = Accuracy::accurate;  ///< fast: a kernel may give up accuracy for speed
};

/// Where a call runs: a CUDA stream (cudaStream_t) for device memory; host memory ignores it.
enum class Place : std::int32_t { cpu = 0, cuda = 1 };

/// A workspace starts at a multiple of this many bytes.
inline constexpr std::size_t workspace_alignment = 64;

/// Place, stream and scratch of a call.
struct Execution {
    Place place = Place::cpu;         ///< where the memory of the call is, and where it runs
    void* stream = nullptr;           ///< a cudaStream_t; null: the default one
    void* workspace = nullptr;        ///< on the same device, at least the size the query gives
    std::size_t workspace_bytes = 0;  ///< its size
};

/// Prefill and training forward.
///
/// Sizes may be zero: without queries nothing happens. A query without keys gets zeros and an LSE
/// of -inf (of its sink's logit, where there are sinks). `out` and `lse` must not overlap any
/// input.
///
/// Ragged batches are packed: q (total, heads, headdim), lse (total, heads_q), with prefix sums of
/// the lengths, int32 and batch + 1 of them. Those on the host give lengths where memory is on a
/// device.
///
/// 8 bits: q, k and v all in e4m3, `out` in bf16. A tensor then stands for its elements times a
/// scale: float32 and positive, one for each sequence and KV head, on the device of the call. The
/// query heads of a KV head share q's. Hopper only, elsewhere refused: head dims in multiples of
/// 16, addresses and strides of q, k and v in multiples of 16 bytes.
struct ForwardArgs {
    TensorView q;    ///< (batch, seqlen_q, heads_q, headdim)
    TensorView k;    ///< (batch, seqlen_k, heads_kv, headdim)
    TensorView v;    ///< (batch, seqlen_k, heads_kv, headdim_v)
    TensorView out;  ///< (batch, seqlen_q, heads_q, headdim_v)
    TensorView lse;  ///< (batch, seqlen_q, heads_q) float32; may have a null pointer
    std::span<const std::int32_t> cu_seqlens_q;         ///< on the host; empty: fixed length
    std::span<const std::int32_t> cu_seqlens_k;         ///< the same of the keys
    const std::int32_t* device_cu_seqlens_q = nullptr;  ///< GPU only: the same on the device
    const std::int32_t* device_cu_seqlens_k = nullptr;  ///< the same of the keys
    AttentionOptions options;                           ///< mask, scale, kernel and threads
    const float* q_scale = nullptr;                     ///< e4m3 only: (batch, heads_kv); null: 1
    const float* k_scale = nullptr;                     ///< the same of k
    const float* v_scale = nullptr;                     ///< the same of v
};
/// Bytes of workspace that `forward` needs for these arguments. Throws what `forward` throws.
std::size_t forward_workspace(const ForwardArgs& args, Place place);
/// Throws Error; on any error the output is untouched. On a GPU the work is enqueued on the stream.
void forward(const ForwardArgs& args, const Execution& execution);

/// One or few query tokens against a cache. MLA is one latent cache: v_cache has k_cache's pointer
/// and strides, heads_kv is 1.
///
/// An e4m3 cache stands for its elements times scales, float32 and positive: those of heads, and
/// those of tokens beside them. Both kinds multiply. Scales of keys that no query sees may hold
/// anything.
///
/// On GPUs only Hopper takes scales of tokens. It copies them four at a time where tokens lie side
/// by side, that is with a stride of 1. Addresses and other strides must then be multiples of 16
/// bytes, and the lengths of pages multiples of 4. Else it copies them one by one.
///
/// The workspace depends on shapes, max_seqlen_k, whether there is a tree and whether tokens have
/// scales: one that was queried for the longest context serves every step up to it.
///
/// A tree of speculated tokens stands in the place of causal and of a window, which are refused
/// beside it. At most 32 are new: the last seqlen_q keys of each sequence's cache. New token i sees
/// new token j exactly if bit j of its word is set, and all older keys: a token has its own bit and
/// those of its ancestors.
///
/// A token without a bit, in a cache without older keys, has zeros and an LSE of -inf (of its
/// sink's logit, where there are sinks). A cache with fewer keys than new tokens has those of the
/// last ones. On a CPU, and on a GPU with options.checked, a bit at or above seqlen_q is refused;
/// elsewhere it counts for nothing.
struct DecodeArgs {
    TensorView q;        ///< (batch, seqlen_q, heads_q, headdim)
    TensorView k_cache;  ///< (batch, capacity, heads_kv, headdim), or pages first as v_cache
    TensorView v_cache;  ///< with a block table (pages, page_size, heads_kv, headdim_v)
    TensorView out;      ///< (batch, seqlen_q, heads_q, headdim_v)
    TensorView lse;      ///< (batch, seqlen_q, heads_q) float32; may have a null pointer

    /// Used length of each sequence, int32, on the device of the call; null: all are max_seqlen_k.
    const std::int32_t* seqlens_k = nullptr;
    /// The host's upper bound of seqlens_k; plans and predictions use it.
    std::int64_t max_seqlen_k = 0;
    const std::int32_t* block_table = nullptr;  ///< (batch, block_table_stride) int32, or null
    std::int64_t block_table_stride = 0;        ///< entries of the table a sequence
    const float* k_scale = nullptr;             ///< e4m3 caches: (batch, heads_kv); null: 1
    const float* v_scale = nullptr;             ///< the same of v_cache
    AttentionOptions options;                   ///< mask, scale, kernel and threads
    const std::uint32_t* tree = nullptr;        ///< (batch, seqlen_q) words on the device, or null

    /// A scale for each token and KV head, fp32, of any strides: (batch, capacity, heads_kv) or
    /// (pages, page_size, heads_kv). Both or neither, not for a latent cache; without shape and
    /// data: none.
    TensorView k_token_scale;
    TensorView v_token_scale;  ///< the same of v_cache
};
/// Bytes of workspace that `decode` needs for these arguments. Throws what `decode` throws.
std::size_t decode_workspace(const DecodeArgs& args, Place place);
/// Throws Error; on any error the output is untouched. On a GPU the work is enqueued on the stream.
void decode(const DecodeArgs& args, const Execution& execution);

/// Partial results of the same queries over disjoint sets of keys, brought together: splits of a
/// cache, a prefix that sequences share, keys on several GPUs. A row is a query token of any
/// sequence. `out` is the mean of the parts weighted by exp(LSE), added up in fp32, `lse` that of
/// all keys.
///
/// A part with an LSE of -inf has seen no key and counts for nothing, whatever its output holds. A
/// row that no part has seen gets zeros and -inf (of its sink's logit, where there are sinks). An
/// LSE of NaN or +inf, or NaN in the output of a part that counts, gives NaN.
///
/// A sink must count once: give `sinks` here, and to none of the calls that made the parts, or to
/// one of those calls and not here. There is no workspace. `out` and `lse` must not overlap any
/// input.
struct CombineArgs {
    TensorView out_parts;  ///< (parts, rows, heads, headdim) in fp32, fp16 or bf16

    /// (parts, rows, heads) float32 natural logarithms, of any strides, as `forward` and `decode`
    /// give them.
    TensorView lse_parts;
    TensorView out;                ///< (rows, heads, headdim) in any of the three types
    TensorView lse;                ///< (rows, heads) float32; may have a null pointer
    const float* sinks = nullptr;  ///< heads logits on the device of the call, or null
    int threads = 0;               ///< CPU; 0: all
};
/// Throws Error; on any error the output is untouched.
void combine(const CombineArgs& args, const Execution& execution);

/// What a call would cost. `device` is a name in `devices()`, "cpu" for this machine's processor,
/// or empty for this machine (its GPU if it has one). Only shapes, types and lengths are looked at:
/// pointers may be null. Rates are the best known ones, this user's measurements included.
struct PredictedTime {
    double seconds = 0;           ///< the model's own
    double expected_seconds = 0;  ///< with the median of committed errors of this kernel taken out

    /// The model's own without constants that were fitted to the kernel.
    double uncalibrated_seconds = 0;
    std::string limiter;  ///< the term or resource that decides
    std::string kernel;   ///< that a call would run, or that was named
    std::string tile;     ///< of the kernel, as fields
    std::vector<std::pair<std::string, double>> resources;  ///< layer 1: seconds by resource
    std::vector<std::pair<std::string, double>> terms;      ///< layer 2: they sum to seconds
    std::optional<std::pair<double, double>> band;          ///< of past errors; none: too few
    std::string rates_id;                                   ///< which set of rates it rests on
};
/// Of a call of `forward` with these arguments.
PredictedTime predict_forward(const ForwardArgs& args, const std::string& device = {});
/// Of a call of `decode` with these arguments.
PredictedTime predict_decode(const DecodeArgs& args, const std::string& device = {});
/// The same for a shape in the grammar of the command line.
PredictedTime predict_shape(const std::string& shape, const std::string& device = {},
                            const std::string& kernel = {});
/// Names of the devices that raceline has a datasheet of, sorted.
std::vector<std::string> devices();

/// "1.2.3"
std::string version();

}  // namespace raceline
