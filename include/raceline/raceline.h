/* SPDX-License-Identifier: Apache-2.0
 * The C interface of raceline, C11: attention over views of the caller's memory, its predicted
 * time, and receipts of what was measured. docs/guides/c.md shows it in use.
 *
 * - Every function that can fail returns an rl_status; rl_last_error() then gives the reason, for
 *   the calling thread. On any failure the outputs are untouched.
 * - Structs begin with their size: set struct_size to sizeof the struct and clear the rest, so that
 *   programs built against an older header keep working. RL_INIT(type) does both.
 * - Texts are UTF-8. A `char**` result is allocated by the library: free it with rl_free.
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

/* A cleared struct with its size set: rl_options options = RL_INIT(rl_options); */
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

/* rl_options.accuracy. With RL_FAST, e4m3 on Hopper accumulates P·V in the tensor core alone, where
 * sums over long contexts lose bits. Elsewhere the two are the same. */
enum rl_accuracy_values { RL_ACCURATE = 0, RL_FAST = 1 };

/* Where the tensors of a call are and where it runs. */
enum rl_place_values { RL_CPU = 0, RL_CUDA = 1 };

/* A workspace starts at a multiple of this many bytes. */
enum rl_workspace_values { RL_WORKSPACE_ALIGNMENT = 64 };

/* "1.2.3" */
RL_API const char* rl_version(void);
/* Why the calling thread's last call failed; "" if it succeeded. Valid until this thread's next
 * call. */
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
    int32_t checked; /* decode: reads lengths, sums, table and tree, refuses what is out of range */
    int32_t threads; /* CPU; 0: all */
    int32_t accuracy; /* RL_ACCURATE or RL_FAST */
} rl_options;

/* q (batch, seqlen_q, heads_q, headdim), k and v (batch, seqlen_k, heads_kv, headdim[_v]), out like
 * q with headdim_v, lse (batch, seqlen_q, heads_q) float32. Ragged: (total, heads, headdim), lse
 * (total, heads_q), with prefix sums (batch + 1, int32) on the host, and for a GPU on the device
 * too. On a GPU those on the host may be null: nothing is read on the host then, and max_seqlen_q
 * and max_seqlen_k bound the lengths. lse, options and prefix sums may be null.
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
    int64_t max_seqlen_q; /* without prefix sums on the host: the upper bound of the lengths in q;
                             0: all tokens. With them a bound that they are checked against, or 0 */
    int64_t max_seqlen_k; /* the same of k */
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
    /* A tree of up to 32 new tokens, which replaces causal and windows: (batch, seqlen_q) words on
     * the device of the call, or null. New token i sees every key before the last seqlen_q ones,
     * and new token j exactly if bit j of its word is set. Bits at or above seqlen_q are refused on
     * a CPU and with options.checked, and ignored elsewhere. */
    const uint32_t* tree;
    /* e4m3 caches: a float32 scale for each token and KV head, in addition to those above: (batch,
     * capacity, heads_kv) or (pages, page_size, heads_kv), any strides; give both or neither. Among
     * GPUs only Hopper takes them, four at a time if tokens are adjacent (stride 1). */
    const rl_tensor* k_token_scale;
    const rl_tensor* v_token_scale;
    /* For sequences with different numbers of new tokens. q, out, lse and tree are then packed,
     * (total, ...) in the place of (batch, seqlen_q, ...). The array cu_seqlens_q has the prefix
     * sums of these numbers, from 0 to the total, on the device of the call. A GPU call does not
     * wait for them. On a CPU, and with options.checked, wrong sums are refused; elsewhere the
     * answer is undefined. */
    int64_t cu_seqlens_count; /* batch + 1, or 0: q is not packed */
    const int32_t* cu_seqlens_q;
    int64_t max_seqlen_q; /* the host's upper bound of a sequence's new tokens; 0: 16, or the total
                           * if that is less */
} rl_decode_args;

/* Bytes of workspace that the call needs. Nothing else is written. */
RL_API rl_status rl_forward_workspace(const rl_forward_args* args, int32_t place, size_t* bytes);
RL_API rl_status rl_decode_workspace(const rl_decode_args* args, int32_t place, size_t* bytes);

/* stream: a cudaStream_t, ignored on a CPU. workspace: on the device of the call. */
RL_API rl_status rl_forward(const rl_forward_args* args, int32_t place, void* stream,
                            void* workspace, size_t workspace_bytes);
RL_API rl_status rl_decode(const rl_decode_args* args, int32_t place, void* stream, void* workspace,
                           size_t workspace_bytes);

/* Combines partial results over disjoint sets of keys. The outputs, out_parts (parts, rows, heads,
 * headdim) and out (rows, heads, headdim), are in fp32, fp16 or bf16 each. The LSEs, lse_parts
 * (parts, rows, heads) of any strides and lse (rows, heads) or null, are in float32. A part with an
 * LSE of -inf is ignored, whatever its output holds. Give sinks either here or to one of the calls
 * that made the parts. */
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

/* ---- other operations than attention ---- */

/* An operation of one shape, with the kernel that runs it. The kernel is chosen once; then several
 * threads may run the operation, many times. Free it once. */
typedef struct rl_operation rl_operation;

/* shape: such as "op=rmsnorm,n=8192x4096,dtype=bf16" (docs/operations.md). kernel: a name; null or
 * "": the model chooses. threads: CPU threads; 0: all. */
RL_API rl_status rl_operation_create(const char* shape, int32_t place, const char* kernel,
                                     int32_t threads, rl_operation** operation);
/* A JSON object: kernel, workspace_bytes, and tensors in the order in which rl_operation_run takes
 * their addresses: {"name", "dtype" ("int32" of indices), "rows", "width", "bytes", "output"}. */
RL_API rl_status rl_operation_describe(const rl_operation* operation, char** json);
/* addresses: one for each tensor, on the device of the place; null for one without bytes. Outputs
 * must not overlap other tensors. On a GPU the work is enqueued on stream (a cudaStream_t). */
RL_API rl_status rl_operation_run(const rl_operation* operation, void* const* addresses,
                                  int64_t count, void* stream, void* workspace,
                                  size_t workspace_bytes);
/* Checks outputs, whoever computed them, against float64. addresses: as above, in host memory.
 * json: {"passed", "relative_rms" and, on failure, "why"}. A wrong output still returns RL_OK. */
RL_API rl_status rl_operation_check(const rl_operation* operation, const void* const* addresses,
                                    int64_t count, uint64_t seed, char** json);
RL_API void rl_operation_free(rl_operation* operation); /* null is fine */

/* ---- prediction ---- */

/* A JSON array of the known devices, {"id", "name", "year", "live"}, live ones first. */
RL_API rl_status rl_devices(char** json);

/* The predicted case as a JSON object, in the form of receipts. Its members are device, kernel,
 * tile, workload, case and prediction {seconds, limiter, layer1, layer2, ...}. Where a call would
 * be refused for want of memory it has too_large, a clause; where the device is older than what
 * kernels are compiled for, not_compiled.
 *
 * device: an id of rl_devices; null or "": this machine. kernel: a name; null or "": the one that a
 * call would run. Data pointers may be null. Lengths in seqlens_k are not read: all count as
 * max_seqlen_k. Nor are the sums in cu_seqlens_q: one sequence counts as max_seqlen_q tokens, the
 * others share the rest. Only a shape can give lengths, as in "q=4;1,k=100;200,page=16". */
RL_API rl_status rl_predict_shape(const char* shape, const char* device, const char* kernel,
                                  char** json);
RL_API rl_status rl_predict_forward(const rl_forward_args* args, const char* device, char** json);
RL_API rl_status rl_predict_decode(const rl_decode_args* args, const char* device, char** json);

/* The least time of a problem, whatever kernel solves it, also on devices that no kernel here runs
 * on. A JSON object of device, workload, case and bound {seconds, limiter, engine, memory_seconds,
 * compute_seconds, launch_seconds, arithmetic_intensity, ridge, rates}. */
RL_API rl_status rl_predict_bound(const char* shape, const char* device, char** json);

/* A case that is launched differently from rl_forward. Cleared members mean what they do above. */
typedef struct rl_case {
    size_t struct_size;
    const char* shape;
    const char* device;
    const char* kernel;
    const char* launch_path; /* GPU: "graph" or "stream"; null or "": as a call would */
    int32_t threads;         /* CPU; 0: all */
} rl_case;
RL_API rl_status rl_predict_case(const rl_case* which, char** json);

/* The work of your own program, and the time that it took. */
typedef struct rl_work_point {
    size_t struct_size;
    double flops;       /* a multiply-add counts as two */
    double bytes;       /* read and written at `memory` */
    double seconds;     /* measured; 0: not yet */
    const char* engine; /* a rate such as "wgmma.bf16", or a type, which means its fastest engine;
                         * may be null if flops is 0 */
    const char* memory; /* "l2", "dram_copy", ...; null or "": "dram", at the read ceiling */
} rl_work_point;
/* Its place on the roofline of a device (as in rl_predict_shape), as a JSON object. Its members are
 * arithmetic_intensity, ridge, memory_seconds, compute_seconds, bound_seconds, limiter, standing,
 * of_roof (bound / measured time) and gain_of_tenth. That is the factor by which the bound falls if
 * the limiting rate rises by a tenth. */
RL_API rl_status rl_point(const rl_work_point* point, const char* device, char** json);

/* A JSON array of the shapes of a suite, as texts that rl_predict_shape takes. The name is that of
 * a suite, of a part (NAME:128), random:SEED, serving:SEED, operations:SEED,
 * layer:MODEL:prefill=TOKENS or layer:MODEL:decode=SEQUENCESxKEYS (docs/shapes.md). The dtype,
 * "bf16", ..., is for all of them; null or "": the suite's own. */
RL_API rl_status rl_suite(const char* name, const char* dtype, char** json);

/* ---- correctness ---- */

/* Checks an output, whoever computed it, on the host: q, k, v, out (and lse, if given) are in host
 * memory, whatever device the answer came from. The declared rounding of the kernel that is named
 * sets the bound. The seed selects the rows of a large output that are compared with float64 and
 * with the rounded reference.
 *
 * json: {"passed", "relative_rms", "worst", "bound", "bound_worst",
 * "cases" and, on failure, "why"}. A wrong output still returns RL_OK. */
RL_API rl_status rl_check_forward(const rl_forward_args* args, const char* kernel, uint64_t seed,
                                  char** json);

/* ---- timing ---- */

/* Something to time: a kernel of raceline or of another library, which the caller can launch.
 * Functions return 0. Any other number ends the measurement, with an error that names it. */
typedef struct rl_contender {
    size_t struct_size;
    const char* name;
    /* Enqueues one sample, that is `calls` calls, on the stream (a cudaStream_t). On a CPU the
     * stream is null, and the calls are done on return. */
    int32_t (*enqueue)(void* context, void* stream);
    /* GPU: enqueues one call, to measure its host time. May be null: then that is not measured. */
    int32_t (*call)(void* context, void* stream);
    void* context; /* passed to both functions */
    int32_t calls;
} rl_contender;

/* A member that is 0 or null stands for the value in brackets. */
typedef struct rl_timing_options {
    size_t struct_size;
    double half_width;   /* settled: half of the 95 % interval is at most this * median [0.01] */
    int32_t min_samples; /* of each contender [11] */
    int32_t max_samples; /* [2000] */
    double min_seconds;  /* timed work of each contender, at least [0] */
    double max_seconds;  /* timed work, at most, times the number of contenders [1] */
    double ramp_seconds; /* GPU: work before the first sample, so that clocks settle [0.08] */
    const char* regime;  /* "sustained": always busy; "alone": after each sample the device rests
                          * three times as long as the sample took ["sustained"] */
    int32_t separate; /* GPU, not 0: before each sample, untimed, other data fills the L2, and the
                       * stream is held until the sample has been enqueued [0] */
    uint64_t order_seed; /* seed of the random order of contenders within a round [1] */
} rl_timing_options;

/* The result for one contender. Times are per call, in seconds. */
typedef struct rl_timing {
    size_t struct_size;
    double seconds_median;
    double seconds_low; /* 95 % confidence interval of the median */
    double seconds_high;
    double seconds_call; /* host time of one call and the wait for it; else the median */
    double sm_clock_hz;  /* median over the samples; 0: not known */
    double power_w;      /* the same, in W */
    int32_t samples;     /* samples used */
    int32_t disturbed;   /* samples dropped: other work used the cores or slowed the device */
    int32_t unsettled; /* interval over 10 % of the median, or too few samples left: not to be used
                        * for accuracy, bands or comparisons */
    int32_t settled;   /* it stopped because the noise settled, not because time ran out */
    int32_t throttled; /* the driver slowed the clock down for heat or power */
    char disturbance[256]; /* what disturbed it, as a sentence; "": nothing */
} rl_timing;

/* Times contenders against each other, in the loop that measures raceline's own kernels: they take
 * turns in random order until each median has settled or time is up. A round in which one of them
 * is disturbed is dropped for all. place: RL_CPU, or RL_CUDA for the current device, on a stream
 * that the library creates. options may be null. There is one result for each contender. All
 * contenders have the same struct_size, and so have all results. Functions run on the calling
 * thread. */
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

/* Median and interval of raw samples, computed as in every receipt. Set summary->struct_size first.
 */
RL_API rl_status rl_summarize(const double* samples, int64_t count, rl_summary* summary);

/* The current clock of the current CUDA device; all 0 if no driver reports it. */
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
 * user's state folder. argc and argv: this program's command line, which every row records. */
RL_API rl_status rl_receipt_open(const char* path, int argc, const char* const* argv,
                                 rl_receipt** receipt);
/* The file's path, valid until it is closed. */
RL_API const char* rl_receipt_path(const rl_receipt* receipt);
/* Bytes of an unfinished last line that opening cut off; 0: none. */
RL_API size_t rl_receipt_repaired(const rl_receipt* receipt);

/* Appends one row. Its kind is prediction, bound, measurement, counters, comparison, ceiling,
 * check, refusal, device or kernel. The content is a JSON object with the row's own members, to
 * which the library adds the rest. The string row (may be null) receives the row as written. */
RL_API rl_status rl_receipt_append(rl_receipt* receipt, const char* kind, const char* content,
                                   char** row);

/* One side of a comparison: the result of rl_time_contenders, or raw samples in seconds with the
 * state of the device while they were taken. */
typedef struct rl_samples {
    size_t struct_size;
    const double* seconds;
    int64_t count;
    double seconds_call;     /* host time of one call; 0: the median */
    double sm_clock_hz;      /* 0: unknown */
    double power_w;          /* 0: unknown */
    int32_t settled;         /* stopped because the noise settled, not because time ran out */
    int32_t throttled;       /* the driver slowed the clock down for heat or power */
    const rl_timing* timing; /* replaces all of the above, which must then be 0 */
} rl_samples;

/* Appends a `comparison` row. The object `about` describes in JSON what both sides ran: kernel,
 * tile, workload, device, case, ... as rl_predict_* returns it, and correctness of ours. The object
 * `peer` has name, version, backend and correctness {"passed": ...}. Medians and intervals of raw
 * samples and the ratio (peer's time / ours) with its interval are computed here. */
RL_API rl_status rl_receipt_append_comparison(rl_receipt* receipt, const char* about,
                                              const rl_samples* ours, const char* peer,
                                              const rl_samples* theirs, char** row);
/* Closes the file; null is fine. */
RL_API void rl_receipt_close(rl_receipt* receipt);

#ifdef __cplusplus
}
#endif

#endif
