/* SPDX-License-Identifier: Apache-2.0
 * The C interface of raceline, C11: attention over views of the caller's memory, its predicted
 * time, and receipts of what was measured. docs/guides/c.md shows it in use.
 *
 * - Every function that can fail returns an rl_status; rl_last_error() then has the sentence that
 *   says why, of the calling thread. On any failure the outputs are untouched.
 * - Structs begin with their size: set struct_size to sizeof the struct and clear the rest, so that
 *   programs built against an older header keep working. RL_INIT(type) does both.
 * - Texts are UTF-8. A `char**` result is allocated by the library: give it back with rl_free.
 * - Functions may be called from several threads at once. */
#ifndef RACELINE_H
#define RACELINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RL_API __attribute__((visibility("default")))
#else
#define RL_API
#endif

/* A cleared struct that knows its size: rl_options options = RL_INIT(rl_options); */
#ifdef __cplusplus
template <class T>
inline T rl_init() {
    T cleared{};
    cleared.struct_size = sizeof(T);
    return cleared;
}
#define RL_INIT(type) ::rl_init<type>()
extern "C" {
#else
#define RL_INIT(type) {.struct_size = sizeof(type)}
#endif

/* Status of a call. */
typedef int32_t rl_status;
enum rl_status_values {
    RL_OK = 0,
    RL_INVALID_ARGUMENT = 1, /* the call is wrong */
    RL_UNSUPPORTED = 2,      /* valid, but no kernel here serves it */
    RL_NO_DEVICE = 3,        /* the named device is unknown or not live */
    RL_IO = 4,               /* a file could not be read or written */
    RL_CORRUPT = 5,          /* a file or text was read and its content is broken */
    RL_INTERNAL = 6          /* out of memory, a failing driver, or a bug */
};

/* Storage types. */
enum rl_dtype_values { RL_FP32 = 0, RL_FP16 = 1, RL_BF16 = 2, RL_E4M3 = 3, RL_NVFP4 = 4 };

/* rl_options.accuracy. Fast: e4m3 on Hopper adds up P·V in the tensor core alone, whose sums over
 * long contexts lose bits; elsewhere the same. */
enum rl_accuracy_values { RL_ACCURATE = 0, RL_FAST = 1 };

/* Where a call's memory is and where it runs. */
enum rl_place_values { RL_CPU = 0, RL_CUDA = 1 };

/* Start of a workspace: a multiple of this many bytes. */
enum rl_workspace_values { RL_WORKSPACE_ALIGNMENT = 64 };

/* "1.2.3" */
RL_API const char* rl_version(void);
/* Sentence of the calling thread's last failed call, "" after a call that succeeded. Valid until
 * this thread's next call. */
RL_API const char* rl_last_error(void);
/* "fp32", "fp16", "bf16", "e4m3", "nvfp4", or "?". */
RL_API const char* rl_dtype_name(int32_t dtype);
/* Frees a text that the library allocated; null is fine. */
RL_API void rl_free(char* text);

/* ---- attention ---- */

/* A strided view; shape and strides in elements, rank 2 to 4, last dimension contiguous. */
typedef struct rl_tensor {
    size_t struct_size;
    void* data;
    int32_t dtype;
    int32_t rank;
    int64_t shape[4];
    int64_t strides[4];
} rl_tensor;

/* Row-major view of the first `rank` sizes. */
RL_API rl_tensor rl_contiguous(void* data, int32_t dtype, int32_t rank, const int64_t* shape);

/* Cleared: full attention, scale 1 / sqrt(headdim), kernel chosen by the model, all cores. */
typedef struct rl_options {
    size_t struct_size;
    int32_t causal;
    int32_t has_window;
    int64_t window_left; /* inclusive offsets after bottom-right alignment; negative: unbounded */
    int64_t window_right;
    double scale;        /* 0: 1 / sqrt(headdim) */
    double softcap;      /* 0: none */
    const float* sinks;  /* heads_q logits on the device of the call, or null */
    const char* backend; /* a kernel's name; null or "": chosen by the model */
    int32_t checked; /* decode: reads lengths, block table and tree, refuses what is out of range */
    int32_t threads; /* CPU; 0: all */
    int32_t accuracy; /* RL_ACCURATE or RL_FAST */
} rl_options;

/* q (batch, seqlen_q, heads_q, headdim), k and v (batch, seqlen_k, heads_kv, headdim[_v]), out like
 * q with headdim_v, lse (batch, seqlen_q, heads_q) float32. Ragged: (total, heads, headdim), lse
 * (total, heads_q), with prefix sums (batch + 1, int32) on the host, and for a GPU on the device
 * too. lse, options and prefix sums may be null.
 *
 * q, k and v may all be e4m3: out is bf16 then, and every tensor has a positive scale for each
 * sequence and KV head, by which its elements are multiplied. Hopper only, with head dims in
 * multiples of 16, addresses and strides in multiples of 16 bytes. */
typedef struct rl_forward_args {
    size_t struct_size;
    const rl_tensor* q;
    const rl_tensor* k;
    const rl_tensor* v;
    const rl_tensor* out;
    const rl_tensor* lse;
    const rl_options* options;
    int64_t cu_seqlens_count; /* batch + 1, or 0: fixed lengths */
    const int32_t* cu_seqlens_q;
    const int32_t* cu_seqlens_k;
    const int32_t* device_cu_seqlens_q;
    const int32_t* device_cu_seqlens_k;
    const float* q_scale; /* e4m3: (batch, heads_kv) on the device of the call, or null for 1 */
    const float* k_scale;
    const float* v_scale;
} rl_forward_args;

/* q and out (batch, seqlen_q, heads_q, headdim[_v]); caches (batch, capacity, heads_kv,
 * headdim[_v]) or, with a block table, (pages, page_size, heads_kv, headdim[_v]). */
typedef struct rl_decode_args {
    size_t struct_size;
    const rl_tensor* q;
    const rl_tensor* k_cache;
    const rl_tensor* v_cache;
    const rl_tensor* out;
    const rl_tensor* lse;
    const rl_options* options;
    const int32_t* seqlens_k;   /* batch used lengths, or null: all max_seqlen_k */
    int64_t max_seqlen_k;       /* the host's upper bound of seqlens_k */
    const int32_t* block_table; /* (batch, block_table_stride), or null */
    int64_t block_table_stride;
    const float* k_scale; /* e4m3 caches: (batch, heads_kv), or null for 1 */
    const float* v_scale;
    /* A tree of up to 32 new tokens, in the place of causal and of a window: (batch, seqlen_q)
     * words on the device of the call, or null. New token i sees new token j exactly if bit j of
     * its word is set, and every key that is older than the last seqlen_q ones. Bits at or above
     * seqlen_q are refused on a CPU and with options.checked, and count for nothing elsewhere. */
    const uint32_t* tree;
    /* e4m3 caches: a float32 scale for each token and KV head beside those above, (batch, capacity,
     * heads_kv) or (pages, page_size, heads_kv), of any strides; both or null. Of GPUs only Hopper
     * takes them, four at a time where tokens lie side by side (a token's stride is 1). */
    const rl_tensor* k_token_scale;
    const rl_tensor* v_token_scale;
} rl_decode_args;

/* Bytes of workspace that the call needs; write nothing else. */
RL_API rl_status rl_forward_workspace(const rl_forward_args* args, int32_t place, size_t* bytes);
RL_API rl_status rl_decode_workspace(const rl_decode_args* args, int32_t place, size_t* bytes);

/* stream: a cudaStream_t, ignored on a CPU. workspace: on the device of the call. */
RL_API rl_status rl_forward(const rl_forward_args* args, int32_t place, void* stream,
                            void* workspace, size_t workspace_bytes);
RL_API rl_status rl_decode(const rl_decode_args* args, int32_t place, void* stream, void* workspace,
                           size_t workspace_bytes);

/* Partial results over disjoint sets of keys as one: out_parts (parts, rows, heads, headdim) in
 * fp32, fp16 or bf16, lse_parts (parts, rows, heads) float32 of any strides, out (rows, heads,
 * headdim) in any of these types, lse (rows, heads) float32 or null. A part with an LSE of -inf
 * counts for nothing, whatever its output holds. sinks: given here, or to one of the calls that
 * made the parts, never to both. */
typedef struct rl_combine_args {
    size_t struct_size;
    const rl_tensor* out_parts;
    const rl_tensor* lse_parts;
    const rl_tensor* out;
    const rl_tensor* lse;
    const float* sinks; /* heads logits on the device of the call, or null */
    int32_t threads;    /* CPU; 0: all */
} rl_combine_args;
RL_API rl_status rl_combine(const rl_combine_args* args, int32_t place, void* stream);

/* ---- operations beside attention ---- */

/* An operation of one shape, with the kernel that runs it: decided once, run many times, by several
 * threads if need be. Free it once. */
typedef struct rl_operation rl_operation;

/* shape: "op=rmsnorm,n=8192x4096,dtype=bf16" (docs/operations.md). kernel: a name; null or "":
 * chosen by the model. threads: of a CPU, 0 all. */
RL_API rl_status rl_operation_create(const char* shape, int32_t place, const char* kernel,
                                     int32_t threads, rl_operation** operation);
/* A JSON object: kernel, workspace_bytes, and tensors in the order in which rl_operation_run takes
 * their addresses: {"name", "dtype" ("int32" of indices), "rows", "width", "bytes", "output"}. */
RL_API rl_status rl_operation_describe(const rl_operation* operation, char** json);
/* addresses: one a tensor, on the device of the place, null where it has no bytes; outputs overlap
 * nothing. On a GPU it is enqueued on the stream (a cudaStream_t) and not waited for. */
RL_API rl_status rl_operation_run(const rl_operation* operation, void* const* addresses,
                                  int64_t count, void* stream, void* workspace,
                                  size_t workspace_bytes);
/* The gate over outputs that anyone computed: addresses in host memory, as above. json: {"passed",
 * "relative_rms" and, if it did not pass, "why"}. A refused output is RL_OK with "passed" false. */
RL_API rl_status rl_operation_check(const rl_operation* operation, const void* const* addresses,
                                    int64_t count, uint64_t seed, char** json);
RL_API void rl_operation_free(rl_operation* operation); /* null is fine */

/* ---- prediction ---- */

/* A JSON array of the known devices, {"id", "name", "year", "live"}, live ones first. */
RL_API rl_status rl_devices(char** json);

/* The predicted case as a JSON object in the receipt's form: device, kernel, tile, workload, case
 * and prediction {seconds, limiter, layer1, layer2, ...}. device: an id of rl_devices; null or "":
 * this machine. kernel: a name; null or "": the one a call would run. Tensors may lack data.
 * Lengths of a cache (seqlens_k) are not read: all are max_seqlen_k. A shape has them:
 * "k=100;200,page=16". */
RL_API rl_status rl_predict_shape(const char* shape, const char* device, const char* kernel,
                                  char** json);
RL_API rl_status rl_predict_forward(const rl_forward_args* args, const char* device, char** json);
RL_API rl_status rl_predict_decode(const rl_decode_args* args, const char* device, char** json);

/* A case that is not launched as rl_forward launches it. Members as above where cleared. */
typedef struct rl_case {
    size_t struct_size;
    const char* shape;
    const char* device;
    const char* kernel;
    const char* launch_path; /* GPU: "graph" or "stream"; null or "": as a call would */
    int32_t threads;         /* CPU; 0: all */
} rl_case;
RL_API rl_status rl_predict_case(const rl_case* which, char** json);

/* What a program of one's own does and how long it took. */
typedef struct rl_work_point {
    size_t struct_size;
    double flops;       /* a multiply-add counts as two */
    double bytes;       /* read and written at `memory` */
    double seconds;     /* measured; 0: not yet */
    const char* engine; /* a rate such as "wgmma.bf16", or a type: its fastest engine; may be null
                         * where flops is 0 */
    const char* memory; /* "l2", "dram_copy", ...; null or "": "dram", at the read ceiling */
} rl_work_point;
/* Its place on the roofline of a device (as in rl_predict_shape), as a JSON object: arithmetic_
 * intensity, ridge, memory_seconds, compute_seconds, bound_seconds, limiter, of_roof (bound over
 * measured time), standing, gain_of_tenth (what a tenth more of the limiting rate divides the bound
 * by). */
RL_API rl_status rl_point(const rl_work_point* point, const char* device, char** json);

/* A JSON array of the shapes of a suite, as texts that rl_predict_shape takes: a name, a
 * part (NAME:128), random:SEED or serving:SEED (docs/shapes.md).
 * dtype: "bf16", ... for all of them; null or "": the suite's own. */
RL_API rl_status rl_suite(const char* name, const char* dtype, char** json);

/* ---- correctness ---- */

/* The gate over an output that anyone computed, on the host: q, k, v, out (and lse, if given) are
 * host memory, whatever device the answer came from. kernel: the name of the kernel whose declared
 * rounding sets the bound. seed: which rows of a large output are compared with float64 and with
 * the rounded reference. json: {"passed", "relative_rms", "worst", "bound", "bound_worst", "cases"
 * and, if it did not pass, "why"}. A refused output is RL_OK with "passed" false. */
RL_API rl_status rl_check_forward(const rl_forward_args* args, const char* kernel, uint64_t seed,
                                  char** json);

/* ---- timing ---- */

/* Something to be timed: a kernel, or another library's, whose graph or function the caller holds.
 * Functions return 0, or any other number, which ends the measurement with a sentence naming it. */
typedef struct rl_contender {
    size_t struct_size;
    const char* name;
    /* Puts one sample, that is `calls` calls, on the stream (a cudaStream_t). On a CPU stream is
     * null, and the calls have been made on return. */
    int32_t (*enqueue)(void* context, void* stream);
    /* GPU: puts one call on the stream, so that its host time is taken. May be null: not known. */
    int32_t (*call)(void* context, void* stream);
    void* context; /* handed to both */
    int32_t calls;
} rl_contender;

/* Members that are clear have the value in brackets. */
typedef struct rl_timing_options {
    size_t struct_size;
    double half_width;   /* settled: half of the median's 95 % interval / median [0.01] */
    int32_t min_samples; /* of each contender [11] */
    int32_t max_samples; /* [2000] */
    double min_seconds;  /* of timed work of each contender [0] */
    double max_seconds;  /* of timed work, times the number of contenders [1] */
    double ramp_seconds; /* GPU: of work before the first sample, so that clocks settle [0.08] */
    const char* regime;  /* "sustained": kept at work; "alone": after each sample the device rests
                          * three times as long as that took ["sustained"] */
    int32_t separate; /* GPU: not 0: before each sample, untimed, the L2 is read over with foreign
                       * data, and the stream held until the sample has been enqueued [0] */
    uint64_t order_seed; /* of the random order of contenders within a round [1] */
} rl_timing_options;

/* What one contender's samples came to. Times are of one call, in seconds. */
typedef struct rl_timing {
    size_t struct_size;
    double seconds_median;
    double seconds_low; /* 95 % confidence interval of the median */
    double seconds_high;
    double seconds_call; /* what a host pays for one call and the wait for it; or the median */
    double sm_clock_hz;  /* median over the samples; 0: not known */
    double power_w;      /* the same, in W */
    int32_t samples;     /* that count */
    int32_t disturbed;   /* that were dropped: something else had the cores or slowed the device */
    int32_t unsettled;   /* interval over 10 % of the median, or too few samples left: no accuracy,
                          * band or comparison may use this */
    int32_t settled;     /* the noise had settled, not the time run out */
    int32_t throttled;   /* the driver slowed the clock down for heat or power */
    char disturbance[256]; /* what disturbed it, in a sentence; "": nothing */
} rl_timing;

/* Times contenders beside each other, by the loop that measures raceline's own kernels: they take
 * turns in random order until each one's median has settled or the time is over. A round in which
 * one of them is disturbed counts for none. place: RL_CPU, or RL_CUDA on the current device, on a
 * stream that the library makes. options may be null. All contenders have one struct_size, and so
 * have the results, one for each. Functions are called on the calling thread. */
RL_API rl_status rl_time_contenders(const rl_contender* contenders, int64_t count, int32_t place,
                                    const rl_timing_options* options, rl_timing* results);

/* ---- statistics and receipts ---- */

typedef struct rl_summary {
    size_t struct_size;
    int64_t samples;
    double median;
    double low; /* 95 % confidence interval of the median */
    double high;
} rl_summary;

/* Median and interval of raw samples, computed as in every receipt. `summary` must know its size.
 */
RL_API rl_status rl_summarize(const double* samples, int64_t count, rl_summary* summary);

/* Clocks of the current CUDA device, now: all clear where no driver tells. */
typedef struct rl_clock_state {
    size_t struct_size;
    double sm_clock_hz;
    double power_w;
    int32_t throttled;
} rl_clock_state;
RL_API rl_status rl_read_clock(rl_clock_state* state);

/* An open receipt file. May be shared by threads; close it once. */
typedef struct rl_receipt rl_receipt;

/* Opens a file to append rows to, creating it and its folders. path null or "": a new file in the
 * user's state folder. argc and argv say how this program was called; they go into every row. */
RL_API rl_status rl_receipt_open(const char* path, int argc, const char* const* argv,
                                 rl_receipt** receipt);
/* The file's path, valid until it is closed. */
RL_API const char* rl_receipt_path(const rl_receipt* receipt);
/* Bytes of an unfinished last line that opening cut off; 0: none. */
RL_API size_t rl_receipt_repaired(const rl_receipt* receipt);

/* Appends one row of a kind (prediction measurement counters comparison ceiling check refusal
 * device kernel). content: a JSON object, the row's own members; the library adds the rest. row
 * (may be null) gets the row as written. */
RL_API rl_status rl_receipt_append(rl_receipt* receipt, const char* kind, const char* content,
                                   char** row);

/* One side of a comparison: what rl_time_contenders gave, or raw samples in seconds and what was
 * seen while they were taken. */
typedef struct rl_samples {
    size_t struct_size;
    const double* seconds;
    int64_t count;
    double seconds_call;     /* what a host pays for one call; 0: the median */
    double sm_clock_hz;      /* 0: unknown */
    double power_w;          /* 0: unknown */
    int32_t settled;         /* the noise had settled, not the time run out */
    int32_t throttled;       /* the driver slowed the clock down for heat or power */
    const rl_timing* timing; /* given: all of the above is in it, and must be clear here */
} rl_samples;

/* Appends a `comparison` row. about: a JSON object with what both sides ran (kernel, tile,
 * workload, device, case, ... as rl_predict_* returns it; correctness of ours). peer: a JSON object
 * with name, version, backend and correctness {"passed": ...}. Medians and intervals of raw samples
 * and the ratio (peer's time / ours) with its interval are computed here. */
RL_API rl_status rl_receipt_append_comparison(rl_receipt* receipt, const char* about,
                                              const rl_samples* ours, const char* peer,
                                              const rl_samples* theirs, char** row);
/* Closes the file; null is fine. */
RL_API void rl_receipt_close(rl_receipt* receipt);

#ifdef __cplusplus
}
#endif

#endif
