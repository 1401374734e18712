// SPDX-License-Identifier: Apache-2.0
// raceline.h: the correctness gate over an output that anyone computed.
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/c_boundary.hpp"
#include "api/call.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "support/json.hpp"

namespace raceline::api {
namespace {

// Sizes of a tensor without its last dimension. Ragged ones are one sequence of all tokens.
struct Extent {
    std::int64_t batch, tokens, heads;
    [[nodiscard]] std::int64_t rows() const { return batch * tokens * heads; }
};

// Rows of `width` bytes one after the other, from wherever strides (in bytes) put them.
template <class T>
std::vector<T> packed(const void* data, const Extent& size, std::int64_t batch_stride,
                      std::int64_t token_stride, std::int64_t head_stride, std::int64_t width) {
    std::vector<T> to(static_cast<std::size_t>(size.rows() * width) / sizeof(T));
    const auto* const from = static_cast<const std::byte*>(data);
    auto* const bytes = reinterpret_cast<std::byte*>(to.data());
    const std::int64_t lines = size.batch * size.tokens;
#pragma omp parallel for schedule(static)
    for (std::int64_t line = 0; line < lines; ++line) {
        const std::byte* const at =
            from + line / size.tokens * batch_stride + line % size.tokens * token_stride;
        for (std::int64_t head = 0; head < size.heads; ++head) {
            std::memcpy(bytes + (line * size.heads + head) * width, at + head * head_stride,
                        static_cast<std::size_t>(width));
        }
    }
    return to;
}

std::vector<std::byte> packed(const TensorArg& tensor, const Extent& size, DType dtype,
                              std::int64_t headdim) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(dtype));
    return packed<std::byte>(tensor.data, size, tensor.batch_stride * bytes,
                             tensor.seq_stride * bytes, tensor.head_stride * bytes,
                             headdim * bytes);
}

// The caller's memory in the form that the oracle reads.
Inputs inputs_of(const Call& call, const Extent& queries, const Extent& keys) {
    const Workload& w = call.workload;
    const AttentionArgs& a = call.args;
    Inputs inputs;
    inputs.q = packed(a.q, queries, w.dtype, w.headdim);
    inputs.k = packed(a.k, keys, w.kv_dtype, w.headdim);
    inputs.v = packed(a.v, keys, w.kv_dtype, w.headdim_v);
    if (a.sinks != nullptr) {
        inputs.sinks.assign(a.sinks, a.sinks + w.heads_q);
    }
    const auto scales = [&](const float* from, std::vector<float>& to) {
        if (from != nullptr) {
            to.assign(from, from + w.batch * w.heads_kv);
        }
    };
    scales(a.q_scale, inputs.q_scale);
    scales(a.k_scale, inputs.k_scale);
    scales(a.v_scale, inputs.v_scale);
    if (a.cu_seqlens_q != nullptr) {
        inputs.cu_seqlens_q.assign(a.cu_seqlens_q, a.cu_seqlens_q + w.batch + 1);
        inputs.cu_seqlens_k.assign(a.cu_seqlens_k, a.cu_seqlens_k + w.batch + 1);
    }
    inputs.lse_elements = static_cast<std::size_t>(queries.rows());
    inputs.out_elements = static_cast<std::size_t>(queries.rows() * w.headdim_v);
    return inputs;
}

Correctness check(const ForwardArgs& given, const Kernel& kernel, std::uint64_t seed) {
    const Call call = check_forward(given, Place::cpu, Pointers::needed);
    const Workload& w = call.workload;
    const AttentionArgs& a = call.args;
    require(!call.empty(), Status::invalid_argument,
            "out has no elements; there is nothing to check");
    const bool ragged = a.cu_seqlens_q != nullptr;
    const Extent queries{ragged ? 1 : w.batch, ragged ? a.tokens_q : w.seqlen_q, w.heads_q};
    const Extent keys{ragged ? 1 : w.batch, ragged ? a.tokens_k : w.seqlen_k, w.heads_kv};
    const Inputs inputs = inputs_of(call, queries, keys);
    const std::vector<std::byte> out = packed(a.out, queries, w.out_dtype(), w.headdim_v);
    std::vector<float> lse;
    if (a.lse != nullptr) {
        constexpr std::int64_t bytes = sizeof(float);
        lse = packed<float>(a.lse, queries, a.lse_batch_stride * bytes, a.lse_seq_stride * bytes,
                            a.lse_head_stride * bytes, bytes);
    }
    return judge(w, inputs, kernel.precision(w), out, lse, seed);
}

}  // namespace
}  // namespace raceline::api

extern "C" rl_status rl_check_forward(const rl_forward_args* args, const char* kernel,
                                      uint64_t seed, char** json) {
    using namespace raceline;
    return api::guarded([&] {
        api::require_pointer(json, "json");
        *json = nullptr;
        api::require_pointer(kernel, "kernel");
        const Kernel& known = find_kernel(kernel);
        const Correctness verdict = api::check(api::read_forward(args), known, seed);
        *json = api::copied_text(dump_json(row_to_json(verdict)));
    });
}
