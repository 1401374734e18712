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

/// A strided view of the caller's memory, which it does not own. Shape and strides are in elements.
/// Strides are zero or positive. The last dimension must be contiguous (stride 1), except in an
/// LSE, which may have any strides. Inputs may repeat elements (stride 0), outputs may not.
struct TensorView {
    void* data = nullptr;               ///< address of the first element
    DType dtype = DType::fp32;          ///< type of the elements
    std::vector<std::int64_t> shape;    ///< sizes, the outermost first
    std::vector<std::int64_t> strides;  ///< elements from one index to the next, for each dimension

    /// A row-major contiguous view.
    static TensorView contiguous(void* data, DType dtype, std::vector<std::int64_t> shape);
};

/// Options of every attention call. Conventions are those of docs/architecture.md: causal masks and
/// windows align bottom-right; the LSE is a natural logarithm in float32 and includes the sink.
///
/// Without `backend`, the kernel and tile with the shortest predicted time run. The choice uses
/// only committed and datasheet rates, never this user's measurements. So a call uses the same tile
/// on all machines of one kind.
struct AttentionOptions {
    bool causal = false;  ///< a query sees no key after its own position

    /// Keys to the left and right of a query's position, inclusive; negative: no limit on that
    /// side. None: all keys.
    std::optional<std::pair<std::int64_t, std::int64_t>> window;
    std::optional<double> scale;   ///< none: 1 / sqrt(headdim)
    double softcap = 0;            ///< 0: none
    const float* sinks = nullptr;  ///< heads_q logits on the same device, or null
    std::string backend;           ///< a kernel's name; empty: chosen by the model

    /// Decode: checks lengths, prefix sums, block table and tree before running, and refuses what
    /// is out of range. On a GPU this synchronises.
    bool checked = false;
    int threads = 0;                         ///< CPU; 0: all
    Accuracy accuracy = Accuracy::accurate;  ///< fast: a kernel may trade accuracy for speed
};

/// Where a call runs: a CUDA stream (cudaStream_t) for device memory; host memory ignores it.
enum class Place : std::int32_t { cpu = 0, cuda = 1 };

/// A workspace starts at a multiple of this many bytes.
inline constexpr std::size_t workspace_alignment = 64;

/// Place, stream and workspace of a call.
struct Execution {
    Place place = Place::cpu;         ///< where the tensors are and the call runs
    void* stream = nullptr;           ///< a cudaStream_t; null: the default stream
    void* workspace = nullptr;        ///< on the same device, of at least the size queried
    std::size_t workspace_bytes = 0;  ///< its size
};

/// Prefill, and the forward pass of training.
///
/// Sizes may be zero: without queries nothing happens. A query without keys gets zeros and an LSE
/// of -inf (or of its sink's logit, if there are sinks). `out` and `lse` must not overlap any
/// input.
///
/// Ragged batches are packed: q is (total, heads, headdim) and lse is (total, heads_q), with
/// batch + 1 prefix sums of the lengths, in int32. On a GPU they are needed on the device. If they
/// are on the host too, they are checked, and the call is planned by them.
///
/// If they are not, device_cu_seqlens_count says how many there are, and max_seqlen_q and
/// max_seqlen_k bound the lengths: the total is at most as many tokens a sequence. Nothing is read
/// on the host then, and a captured call can be replayed with other lengths. The prefix sums must
/// not fall, the last one is at most the total, and no length is above its bound. Rows of a longer
/// sequence, or behind the last sum, may be left unwritten.
///
/// In 8 bits, q, k and v are all e4m3 and `out` is bf16. The value of an element is then its e4m3
/// number times a scale: float32, positive, one for each sequence and KV head, on the device of the
/// call. All query heads of a KV head share one scale of q. Only Hopper accepts this. Head dims
/// must be multiples of 16, and addresses and strides of q, k and v multiples of 16 bytes.
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
    std::int64_t device_cu_seqlens_count = 0;  ///< batch + 1, if there are no sums on the host
    std::int64_t max_seqlen_q = 0;             ///< upper bound of the lengths in q; 0: all tokens
    std::int64_t max_seqlen_k = 0;             ///< the same of k
};
/// Bytes of workspace that `forward` needs for these arguments. Throws what `forward` throws.
std::size_t forward_workspace(const ForwardArgs& args, Place place);
/// Throws Error; on any error the output is untouched. On a GPU the work is enqueued on the stream.
void forward(const ForwardArgs& args, const Execution& execution);

/// One or a few query tokens against a cache. MLA has one latent cache: v_cache then has the
/// pointer and strides of k_cache, and heads_kv is 1.
///
/// The value of an element in an e4m3 cache is its e4m3 number times its scales, which are float32
/// and positive. There can be a scale for each head, one for each token, or both, which multiply.
/// Scales of keys that no query sees may hold anything.
///
/// Among GPUs only Hopper accepts scales of tokens. It copies four at a time if tokens are
/// adjacent, that is if their stride is 1. Addresses and other strides must then be multiples of 16
/// bytes, and the page size a multiple of 4. Otherwise it copies them one by one.
///
/// The workspace depends on shapes, on max_seqlen_k, and on whether there are a tree and scales of
/// tokens. A workspace for the longest context serves every step up to it.
///
/// A tree of speculated tokens replaces causal and windows, which are refused together with it. At
/// most 32 tokens are new: the last seqlen_q keys of each sequence's cache. New token i sees all
/// older keys, and new token j exactly if bit j of its word is set. So a token has its own bit and
/// those of its ancestors.
///
/// A token that sees no key gets zeros and an LSE of -inf (or of its sink's logit, if there are
/// sinks). If a cache has fewer keys than there are new tokens, its keys are those of the last
/// ones. A bit at or above seqlen_q is refused on a CPU, and on a GPU with options.checked;
/// otherwise it is ignored.
///
/// Sequences may have different numbers of new tokens. Then q, out, lse and tree are packed,
/// without a dimension for the batch: q is (total, heads_q, headdim). The prefix sums of the
/// numbers of tokens stand in `cu_seqlens_q`. A sequence may have none. Then seqlen_q is each
/// sequence's own number.
///
/// The sums stay on the device of the call: a GPU call does not wait, and a captured graph can be
/// replayed with other sums of the same total. Plans, workspace and predictions go by
/// `max_seqlen_q`, the total and the batch: one sequence has that many tokens, the others have an
/// even share of the rest, at least one each. On a CPU, and on a GPU with options.checked, wrong
/// sums are refused. Elsewhere the answer to wrong sums is undefined.
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
    std::int64_t block_table_stride = 0;        ///< table entries per sequence
    const float* k_scale = nullptr;             ///< e4m3 caches: (batch, heads_kv); null: 1
    const float* v_scale = nullptr;             ///< the same of v_cache
    AttentionOptions options;                   ///< mask, scale, kernel and threads
    const std::uint32_t* tree = nullptr;        ///< (batch, seqlen_q) words on the device, or null

    /// A scale for each token and KV head, in fp32 with any strides: (batch, capacity, heads_kv) or
    /// (pages, page_size, heads_kv). Give both or neither; a latent cache takes none. Without shape
    /// and data there are none.
    TensorView k_token_scale;
    TensorView v_token_scale;  ///< the same of v_cache

    /// Prefix sums of the numbers of new tokens, from 0 to the total, on the device of the call.
    /// Null: all sequences have seqlen_q.
    const std::int32_t* cu_seqlens_q = nullptr;
    std::int64_t cu_seqlens_count = 0;  ///< batch + 1; 0: q is not packed
    /// With cu_seqlens_q: the host's upper bound of a sequence's new tokens. 0: 16, or the total if
    /// that is less.
    std::int64_t max_seqlen_q = 0;
};
/// Bytes of workspace that `decode` needs for these arguments. Throws what `decode` throws.
std::size_t decode_workspace(const DecodeArgs& args, Place place);
/// Throws Error; on any error the output is untouched. On a GPU the work is enqueued on the stream.
void decode(const DecodeArgs& args, const Execution& execution);

/// Combines partial results of the same queries over disjoint sets of keys: splits of a cache, a
/// prefix that sequences share, or keys on several GPUs. A row is a query token of any sequence.
/// `out` is the mean of the parts, weighted by exp(LSE) and accumulated in fp32. `lse` is the LSE
/// over all keys.
///
/// A part with an LSE of -inf saw no key and is ignored, whatever its output holds. A row for which
/// no part saw a key gets zeros and -inf (or its sink's logit, if there are sinks). An LSE of NaN
/// or +inf, or NaN in the output of a part that is not ignored, gives NaN.
///
/// A sink must be counted once: give `sinks` either here or to one of the calls that made the
/// parts. There is no workspace. `out` and `lse` must not overlap any input.
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

/// The predicted time of a call. `device` is a name in `devices()`, "cpu" for this machine's
/// processor, or empty for this machine (its GPU if it has one). Only shapes, types and lengths
/// matter: pointers may be null. Rates are the best known ones, including this user's measurements.
struct PredictedTime {
    double seconds = 0;           ///< the time that the model predicts
    double expected_seconds = 0;  ///< corrected by the median past error of this kernel

    /// As `seconds`, but without constants that were fitted to the kernel.
    double uncalibrated_seconds = 0;
    std::string limiter;  ///< the term or resource that limits the call
    std::string kernel;   ///< the kernel that would run, or the one named
    std::string tile;     ///< the kernel's tile, as fields
    std::vector<std::pair<std::string, double>> resources;  ///< layer 1: seconds by resource
    std::vector<std::pair<std::string, double>> terms;      ///< layer 2: they sum to seconds
    std::optional<std::pair<double, double>> band;          ///< from past errors; none: too few
    std::string rates_id;                                   ///< identifies the set of rates used
};
/// Predicts a call of `forward` with these arguments.
PredictedTime predict_forward(const ForwardArgs& args, const std::string& device = {});
/// Predicts a call of `decode` with these arguments.
PredictedTime predict_decode(const DecodeArgs& args, const std::string& device = {});
/// The same for a shape in the grammar of the command line.
PredictedTime predict_shape(const std::string& shape, const std::string& device = {},
                            const std::string& kernel = {});
/// The least time of a problem on a device, whatever kernel or library solves it: also of devices
/// that no kernel here runs on. Source: docs/model.md, The bound of the problem.
struct ProblemBound {
    double seconds = 0;          ///< the longest of the next three; 0: nothing is known
    double memory_seconds = 0;   ///< compulsory bytes at the DRAM ceilings
    double compute_seconds = 0;  ///< operations on `engine`
    double launch_seconds = 0;   ///< floor of one launch, on a GPU within a graph; 0: not known
    std::string limiter;         ///< "dram", `engine` or "launch"; empty: nothing is known
    std::string engine;          ///< the fastest one that may multiply these types
    double arithmetic_intensity = 0;  ///< operations / compulsory bytes, flop/byte
    double ridge = 0;                 ///< of `engine`, flop/byte
    std::string rates;  ///< where the limiter's rate comes from: "committed", "datasheet", …
};
/// Of a shape in the grammar of the command line, with cold caches.
/// Throws Error(invalid_argument) for a wrong shape and Error(no_device) for an unknown device.
ProblemBound predict_bound(const std::string& shape, const std::string& device = {});
/// Names of the devices for which raceline has a datasheet, sorted.
std::vector<std::string> devices();

/// "1.2.3"
std::string version();

}  // namespace raceline
