// SPDX-License-Identifier: Apache-2.0
#include "api/c_boundary.hpp"

#include <cstdlib>
#include <span>
#include <utility>

#include "support/build_info.hpp"
#include "support/one_line.hpp"

namespace raceline::api {
namespace {

// A plain array: keeping a sentence must not itself fail for want of memory.
thread_local char last_error[2048] = "";

TensorView read_tensor(const rl_tensor* given, std::string_view name) {
    const rl_tensor tensor = read_struct(given, name);
    require(tensor.rank >= 1 && tensor.rank <= 4, Status::invalid_argument,
            "{}.rank is {}; it must be 1 to 4", name, tensor.rank);
    TensorView view;
    view.data = tensor.data;
    view.dtype = dtype_of(tensor.dtype, name);
    view.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    view.strides.assign(tensor.strides, tensor.strides + tensor.rank);
    return view;
}

AttentionOptions read_options(const rl_options* given) {
    AttentionOptions options;
    if (given == nullptr) {
        return options;
    }
    const rl_options known = read_struct(given, "options");
    options.causal = known.causal != 0;
    if (known.has_window != 0) {
        options.window = std::pair(known.window_left, known.window_right);
    }
    if (known.scale != 0) {
        options.scale = known.scale;
    }
    options.softcap = known.softcap;
    options.sinks = known.sinks;
    options.backend = text_or_empty(known.backend);
    options.checked = known.checked != 0;
    options.threads = known.threads;
    require(known.accuracy == RL_ACCURATE || known.accuracy == RL_FAST, Status::invalid_argument,
            "options.accuracy is {}; it must be 0 (accurate) or 1 (fast)", known.accuracy);
    options.accuracy = static_cast<Accuracy>(known.accuracy);
    return options;
}

std::span<const std::int32_t> prefix_sums(const std::int32_t* sums, std::int64_t count,
                                          std::string_view name) {
    require(count >= 0, Status::invalid_argument,
            "cu_seqlens_count is {}; it must be batch + 1, or 0 without prefix sums", count);
    if (count == 0) {
        require(sums == nullptr, Status::invalid_argument,
                "{} is given, but cu_seqlens_count is 0; it must be batch + 1", name);
        return {};
    }
    require_pointer(sums, name);
    return {sums, static_cast<std::size_t>(count)};
}

// A call as the caller's struct has it, and the part of its arguments that both calls have: what
// has a row a query, and the options.
template <class Args, class Given>
std::pair<Given, Args> read_rows(const Given* given) {
    const Given known = read_struct(given, "args");
    Args args;
    args.q = read_tensor(known.q, "q");
    args.out = read_tensor(known.out, "out");
    if (known.lse != nullptr) {
        args.lse = read_tensor(known.lse, "lse");
    }
    args.options = read_options(known.options);
    return {known, std::move(args)};
}

}  // namespace

rl_status record_status(Status status, std::string_view sentence) noexcept {
    const auto keep = [](std::string_view text) {
        const std::size_t kept = std::min(text.size(), sizeof(last_error) - 1);
        std::memcpy(last_error, text.data(), kept);
        last_error[kept] = '\0';
    };
    try {
        // Cut before it is made valid: no character may be cut afterwards.
        keep(one_line(sentence.substr(0, sizeof(last_error) / 4 - 1)));
    } catch (...) {
        keep("out of memory");
    }
    return static_cast<rl_status>(status);
}

char* copied_text(std::string_view text) {
    auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) {
        throw std::bad_alloc();
    }
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return copy;
}

DType dtype_of(std::int32_t number, std::string_view name) {
    require(number >= RL_FP32 && number <= RL_NVFP4, Status::invalid_argument,
            "{}.dtype is {}; it must be 0 (fp32) to 4 (nvfp4)", name, number);
    return static_cast<DType>(number);
}

Place place_of(std::int32_t number) {
    require(number == RL_CPU || number == RL_CUDA, Status::invalid_argument,
            "place is {}; it must be 0 (cpu) or 1 (cuda)", number);
    return static_cast<Place>(number);
}

ForwardArgs read_forward(const rl_forward_args* given) {
    auto [known, args] = read_rows<ForwardArgs>(given);
    args.k = read_tensor(known.k, "k");
    args.v = read_tensor(known.v, "v");
    const bool on_host = known.cu_seqlens_q != nullptr || known.cu_seqlens_k != nullptr;
    if (!on_host && known.device_cu_seqlens_q != nullptr) {
        args.device_cu_seqlens_count = known.cu_seqlens_count;
    } else {
        args.cu_seqlens_q = prefix_sums(known.cu_seqlens_q, known.cu_seqlens_count, "cu_seqlens_q");
        args.cu_seqlens_k = prefix_sums(known.cu_seqlens_k, known.cu_seqlens_count, "cu_seqlens_k");
    }
    args.max_seqlen_q = known.max_seqlen_q;
    args.max_seqlen_k = known.max_seqlen_k;
    args.device_cu_seqlens_q = known.device_cu_seqlens_q;
    args.device_cu_seqlens_k = known.device_cu_seqlens_k;
    args.q_scale = known.q_scale;
    args.k_scale = known.k_scale;
    args.v_scale = known.v_scale;
    return std::move(args);
}

DecodeArgs read_decode(const rl_decode_args* given) {
    auto [known, args] = read_rows<DecodeArgs>(given);
    args.k_cache = read_tensor(known.k_cache, "k_cache");
    args.v_cache = read_tensor(known.v_cache, "v_cache");
    args.seqlens_k = known.seqlens_k;
    args.max_seqlen_k = known.max_seqlen_k;
    args.block_table = known.block_table;
    args.block_table_stride = known.block_table_stride;
    args.k_scale = known.k_scale;
    args.v_scale = known.v_scale;
    args.tree = known.tree;
    if (known.k_token_scale != nullptr) {
        args.k_token_scale = read_tensor(known.k_token_scale, "k_token_scale");
    }
    if (known.v_token_scale != nullptr) {
        args.v_token_scale = read_tensor(known.v_token_scale, "v_token_scale");
    }
    args.cu_seqlens_q = known.cu_seqlens_q;
    args.cu_seqlens_count = known.cu_seqlens_count;
    args.max_seqlen_q = known.max_seqlen_q;
    return std::move(args);
}

CombineArgs read_combine(const rl_combine_args* given) {
    const rl_combine_args known = read_struct(given, "args");
    CombineArgs args;
    args.out_parts = read_tensor(known.out_parts, "out_parts");
    args.lse_parts = read_tensor(known.lse_parts, "lse_parts");
    args.out = read_tensor(known.out, "out");
    if (known.lse != nullptr) {
        args.lse = read_tensor(known.lse, "lse");
    }
    args.sinks = known.sinks;
    args.threads = known.threads;
    return args;
}

}  // namespace raceline::api

extern "C" {

const char* rl_version(void) {
    static const std::string version = raceline::version();
    return version.c_str();
}

const char* rl_last_error(void) {
    return raceline::api::last_error;
}

const char* rl_dtype_name(int32_t dtype) {
    return raceline::name_of(static_cast<raceline::DType>(dtype));
}

void rl_free(char* text) {
    std::free(text);
}

rl_tensor rl_contiguous(void* data, int32_t dtype, int32_t rank, const int64_t* shape) {
    rl_tensor tensor{};
    tensor.struct_size = sizeof(tensor);
    tensor.data = data;
    tensor.dtype = dtype;
    tensor.rank = rank;
    std::uint64_t stride = 1;  // unsigned: a nonsensical shape is refused by the call, not here
    for (int32_t i = std::min(rank, 4); shape != nullptr && i-- > 0;) {
        tensor.shape[i] = shape[i];
        tensor.strides[i] = static_cast<std::int64_t>(stride);
        stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
    }
    return tensor;
}

}  // extern "C"
