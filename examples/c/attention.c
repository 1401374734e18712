/* SPDX-License-Identifier: Apache-2.0
 * A decode step through the C interface: predicted, run, and checked against a plain loop. */
#include <math.h>
#include <raceline/raceline.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS_Q = 8, HEADS_KV = 2, CONTEXT = 512, HEADDIM = 64 };

/* Numbers that look random and are the same everywhere: a linear congruential generator. */
static float next_value(uint32_t* state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f - 0.5f;
}

static float* random_floats(size_t count, uint32_t seed) {
    float* values = malloc(count * sizeof(float));
    for (size_t i = 0; values != NULL && i < count; ++i) {
        values[i] = next_value(&seed);
    }
    return values;
}

/* One query head of one sequence in double precision: softmax(q K^T / sqrt(d)) V. */
static void plain_row(const float* q, const float* k, const float* v, int32_t keys, double* out) {
    double weights[CONTEXT];
    double sum = 0;
    for (int32_t j = 0; j < keys; ++j) {
        double score = 0;
        for (int i = 0; i < HEADDIM; ++i) {
            score += (double)q[i] * k[(size_t)j * HEADS_KV * HEADDIM + (size_t)i];
        }
        weights[j] = exp(score / sqrt((double)HEADDIM)); /* scores are small here */
        sum += weights[j];
    }
    for (int i = 0; i < HEADDIM; ++i) {
        out[i] = 0;
        for (int32_t j = 0; j < keys; ++j) {
            out[i] += weights[j] / sum * v[(size_t)j * HEADS_KV * HEADDIM + (size_t)i];
        }
    }
}

/* Error of the whole output relative to its size. */
static double relative_error(const float* q, const float* k, const float* v, const float* out,
                             const int32_t* lengths) {
    double wrong = 0;
    double size = 0;
    for (int b = 0; b < BATCH; ++b) {
        for (int h = 0; h < HEADS_Q; ++h) {
            const size_t row = ((size_t)b * HEADS_Q + (size_t)h) * HEADDIM;
            const size_t kv_head = (size_t)(h / (HEADS_Q / HEADS_KV)) * HEADDIM;
            const size_t cache = (size_t)b * CONTEXT * HEADS_KV * HEADDIM + kv_head;
            double expected[HEADDIM];
            plain_row(q + row, k + cache, v + cache, lengths[b], expected);
            for (int i = 0; i < HEADDIM; ++i) {
                const double error = out[row + (size_t)i] - expected[i];
                wrong += error * error;
                size += expected[i] * expected[i];
            }
        }
    }
    return sqrt(wrong / size);
}

static int failed(const char* what) {
    fprintf(stderr, "%s failed: %s\n", what, rl_last_error());
    return 1;
}

/* A program that reads more than this would use a JSON parser. */
static void print_prediction(const char* json) {
    const char* at = strstr(json, "\"prediction\":");
    double seconds = 0;
    char limiter[64] = "?";
    if (at != NULL && sscanf(at, "\"prediction\":{\"seconds\":%lf,\"limiter\":\"%63[^\"]", &seconds,
                             limiter) == 2) {
        printf("predicted %.1f us on this processor, limited by %s\n", 1e6 * seconds, limiter);
    } else {
        printf("predicted: %s\n", json);
    }
}

static int decode_once(const rl_decode_args* args) {
    size_t bytes = 0;
    if (rl_decode_workspace(args, RL_CPU, &bytes) != RL_OK) {
        return failed("rl_decode_workspace");
    }
    const size_t unit = RL_WORKSPACE_ALIGNMENT;
    void* workspace = aligned_alloc(unit, (bytes / unit + 1) * unit);
    const rl_status status = rl_decode(args, RL_CPU, NULL, workspace, bytes);
    free(workspace);
    return status == RL_OK ? 0 : failed("rl_decode");
}

int main(void) {
    const size_t queries = (size_t)BATCH * HEADS_Q * HEADDIM;
    const size_t cache = (size_t)BATCH * CONTEXT * HEADS_KV * HEADDIM;
    float* q = random_floats(queries, 1);
    float* k = random_floats(cache, 2);
    float* v = random_floats(cache, 3);
    float* out = calloc(queries, sizeof(float));
    const int32_t lengths[BATCH] = {CONTEXT, 77};

    const rl_tensor q_view =
        rl_contiguous(q, RL_FP32, 4, (const int64_t[]){BATCH, 1, HEADS_Q, HEADDIM});
    const rl_tensor out_view =
        rl_contiguous(out, RL_FP32, 4, (const int64_t[]){BATCH, 1, HEADS_Q, HEADDIM});
    const rl_tensor k_view =
        rl_contiguous(k, RL_FP32, 4, (const int64_t[]){BATCH, CONTEXT, HEADS_KV, HEADDIM});
    const rl_tensor v_view =
        rl_contiguous(v, RL_FP32, 4, (const int64_t[]){BATCH, CONTEXT, HEADS_KV, HEADDIM});
    rl_decode_args args = RL_INIT(rl_decode_args);
    args.q = &q_view;
    args.k_cache = &k_view;
    args.v_cache = &v_view;
    args.out = &out_view;
    args.seqlens_k = lengths;
    args.max_seqlen_k = CONTEXT;

    printf("raceline %s\n", rl_version());
    char* predicted = NULL;
    if (rl_predict_decode(&args, "cpu", &predicted) != RL_OK) {
        return failed("rl_predict_decode");
    }
    print_prediction(predicted);
    rl_free(predicted);

    if (decode_once(&args) != 0) {
        return 1;
    }
    const double error = relative_error(q, k, v, out, lengths);
    printf("decoded %d sequences; error against a plain loop: %.1e\n", BATCH, error);
    free(q);
    free(k);
    free(v);
    free(out);
    return error < 1e-5 ? 0 : 1; /* false for NaN, too */
}
