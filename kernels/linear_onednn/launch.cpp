// SPDX-License-Identifier: Apache-2.0
// oneDNN's matrix product with its post-ops, by dlopen: the library is large, and who computes no
// product on a CPU does not need it. A primitive is made once a problem and kept.
#include <map>
#include <memory>
#include <mutex>
#include <omp.h>
#include <string_view>

#include "device/device.hpp"
#include "kernels/linear_onednn/tile.hpp"
#include "support/check.hpp"
#include "support/shared_library.hpp"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR == 2
#define RACELINE_HAS_ONEDNN
#endif
#endif

namespace raceline::kernels::linear_onednn {

#ifdef RACELINE_HAS_ONEDNN
namespace {

/// Functions of the library that are called, under their names without dnnl_.
struct Library {
    decltype(&dnnl_engine_create) engine_create = nullptr;
    decltype(&dnnl_stream_create) stream_create = nullptr;
    decltype(&dnnl_primitive_attr_create) primitive_attr_create = nullptr;
    decltype(&dnnl_primitive_attr_set_scratchpad_mode) primitive_attr_set_scratchpad_mode = nullptr;
    decltype(&dnnl_primitive_attr_set_post_ops) primitive_attr_set_post_ops = nullptr;
    decltype(&dnnl_post_ops_create) post_ops_create = nullptr;
    decltype(&dnnl_post_ops_append_eltwise) post_ops_append_eltwise = nullptr;
    decltype(&dnnl_post_ops_append_binary) post_ops_append_binary = nullptr;
    decltype(&dnnl_memory_desc_init_by_strides) memory_desc_init_by_strides = nullptr;
    decltype(&dnnl_matmul_desc_init) matmul_desc_init = nullptr;
    decltype(&dnnl_primitive_desc_create) primitive_desc_create = nullptr;
    decltype(&dnnl_primitive_desc_query_md) primitive_desc_query_md = nullptr;
    decltype(&dnnl_memory_desc_get_size) memory_desc_get_size = nullptr;
    decltype(&dnnl_primitive_create) primitive_create = nullptr;
    decltype(&dnnl_memory_create) memory_create = nullptr;
    decltype(&dnnl_memory_set_data_handle) memory_set_data_handle = nullptr;
    decltype(&dnnl_primitive_execute) primitive_execute = nullptr;
    decltype(&dnnl_stream_wait) stream_wait = nullptr;
    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr;
    bool loaded = false;

    Library() {
        const SharedLibrary shared{"libdnnl.so.2"};
        loaded = shared.find(engine_create, "dnnl_engine_create") &&
                 shared.find(stream_create, "dnnl_stream_create") &&
                 shared.find(primitive_attr_create, "dnnl_primitive_attr_create") &&
                 shared.find(primitive_attr_set_scratchpad_mode,
                             "dnnl_primitive_attr_set_scratchpad_mode") &&
                 shared.find(primitive_attr_set_post_ops, "dnnl_primitive_attr_set_post_ops") &&
                 shared.find(post_ops_create, "dnnl_post_ops_create") &&
                 shared.find(post_ops_append_eltwise, "dnnl_post_ops_append_eltwise") &&
                 shared.find(post_ops_append_binary, "dnnl_post_ops_append_binary") &&
                 shared.find(memory_desc_init_by_strides, "dnnl_memory_desc_init_by_strides") &&
                 shared.find(matmul_desc_init, "dnnl_matmul_desc_init") &&
                 shared.find(primitive_desc_create, "dnnl_primitive_desc_create") &&
                 shared.find(primitive_desc_query_md, "dnnl_primitive_desc_query_md") &&
                 shared.find(memory_desc_get_size, "dnnl_memory_desc_get_size") &&
                 shared.find(primitive_create, "dnnl_primitive_create") &&
                 shared.find(memory_create, "dnnl_memory_create") &&
                 shared.find(memory_set_data_handle, "dnnl_memory_set_data_handle") &&
                 shared.find(primitive_execute, "dnnl_primitive_execute") &&
                 shared.find(stream_wait, "dnnl_stream_wait") &&
                 engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
                 stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
    }
};

const Library& library() {
    static const Library its;
    return its;
}

void must(dnnl_status_t status, std::string_view what) {
    require(status == dnnl_success, Status::unsupported, "oneDNN refuses the product: {} gives {}",
            what, static_cast<int>(status));
}

dnnl_data_type_t type_of(DType dtype) {
    return dtype == DType::fp32 ? dnnl_f32 : dtype == DType::fp16 ? dnnl_f16 : dnnl_bf16;
}

dnnl_memory_desc_t matrix(DType dtype, std::int64_t rows, std::int64_t columns, bool by_columns) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t sizes{rows, columns};
    const dnnl_dims_t strides{by_columns ? 1 : columns, by_columns ? rows : 1};
    must(library().memory_desc_init_by_strides(&desc, 2, sizes, type_of(dtype), strides),
         "a memory description");
    return desc;
}

/// Appends a step; says whether it reads an operand.
bool append(dnnl_post_ops_t ops, RowStep step, const Product& p) {
    const Library& dnnl = library();
    const auto elementwise = [&](dnnl_alg_kind_t kind, float alpha) {
        must(dnnl.post_ops_append_eltwise(ops, 1, kind, alpha, 0), form_of(step).name);
        return false;
    };
    const auto binary = [&](dnnl_alg_kind_t kind) {
        const bool vector = form_of(step).operand == RowOperand::vector;
        const dnnl_memory_desc_t operand = matrix(p.dtype, vector ? 1 : p.m, p.n, false);
        must(dnnl.post_ops_append_binary(ops, kind, &operand), form_of(step).name);
        return true;
    };
    switch (step) {
        case RowStep::gelu: return elementwise(dnnl_eltwise_gelu_tanh, 0);
        case RowStep::silu: return elementwise(dnnl_eltwise_swish, 1);
        case RowStep::sigmoid: return elementwise(dnnl_eltwise_logistic, 0);
        case RowStep::tanh: return elementwise(dnnl_eltwise_tanh, 0);
        case RowStep::exp: return elementwise(dnnl_eltwise_exp, 0);
        case RowStep::square: return elementwise(dnnl_eltwise_square, 0);
        case RowStep::add:
        case RowStep::bias: return binary(dnnl_binary_add);
        case RowStep::sub: return binary(dnnl_binary_sub);
        case RowStep::mul:
        case RowStep::gain: return binary(dnnl_binary_mul);
        default: break;
    }
    fail(Status::unsupported, "oneDNN has no post-op for {}", form_of(step).name);
}

/// A primitive with memories whose addresses each call sets.
struct Made {
    dnnl_primitive_t primitive = nullptr;
    dnnl_memory_desc_t scratch{};
    std::vector<dnnl_exec_arg_t> args;  ///< x, weights, result, scratch, operands of steps
    std::mutex in_use;

    explicit Made(const Product& p) {
        const Library& dnnl = library();
        const dnnl_memory_desc_t x = matrix(p.dtype, p.m, p.k, false);
        const dnnl_memory_desc_t weights = matrix(p.dtype, p.k, p.n, p.by_rows);
        const dnnl_memory_desc_t y = matrix(p.dtype, p.m, p.n, false);
        dnnl_post_ops_t ops = nullptr;
        must(dnnl.post_ops_create(&ops), "post-ops");
        std::vector<std::pair<int, dnnl_memory_desc_t>> operands;
        for (std::size_t i = 0; i < p.after.size(); ++i) {
            if (append(ops, p.after[i], p)) {
                const bool vector = form_of(p.after[i]).operand == RowOperand::vector;
                operands.emplace_back(
                    DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                    matrix(p.dtype, vector ? 1 : p.m, p.n, false));
            }
        }
        dnnl_primitive_attr_t attributes = nullptr;
        must(dnnl.primitive_attr_create(&attributes), "attributes");
        must(dnnl.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
             "scratch of the caller");
        must(dnnl.primitive_attr_set_post_ops(attributes, ops), "post-ops");
        dnnl_matmul_desc_t description;
        must(dnnl.matmul_desc_init(&description, &x, &weights, nullptr, &y), "a product");
        dnnl_primitive_desc_t chosen = nullptr;
        must(dnnl.primitive_desc_create(&chosen, &description, attributes, dnnl.engine, nullptr),
             "a product of these types");
        must(dnnl.primitive_create(&primitive, chosen), "a primitive");
        scratch = *dnnl.primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
        add(DNNL_ARG_SRC, x);
        add(DNNL_ARG_WEIGHTS, weights);
        add(DNNL_ARG_DST, y);
        add(DNNL_ARG_SCRATCHPAD, scratch);
        for (const auto& [which, operand] : operands) {
            add(which, operand);
        }
    }

private:
    void add(int which, const dnnl_memory_desc_t& description) {
        dnnl_memory_t memory = nullptr;
        must(library().memory_create(&memory, &description, library().engine, DNNL_MEMORY_NONE),
             "a memory");
        args.push_back({which, memory});
    }
};

Made& made(const Product& product) {
    static std::mutex lock;
    static std::map<Product, std::unique_ptr<Made>> all;
    const std::scoped_lock held(lock);
    std::unique_ptr<Made>& its = all[product];
    if (its == nullptr) {
        its = std::make_unique<Made>(product);
    }
    return *its;
}

}  // namespace

std::string why_not_loaded() {
    return library().loaded ? "" : "oneDNN is not on this machine (Debian: libdnnl2)";
}

std::size_t scratch_bytes(const Product& product) {
    return library().loaded ? library().memory_desc_get_size(&made(product).scratch) : 0;
}

void launch(const OperationArgs& args, int /*tile*/, const Device& device, void* workspace,
            void* /*stream*/) {
    require(library().loaded, Status::unsupported, "{}", why_not_loaded());
    Product product{args.extents[0], args.extents[1],     args.extents[2],
                    args.dtype,      args.codes[0] == -1, {}};
    for (std::int32_t i = 1; i < args.code_count; ++i) {
        product.after.push_back(static_cast<RowStep>(args.codes.at(static_cast<std::size_t>(i))));
    }
    Made& its = made(product);
    const std::scoped_lock held(its.in_use);  // its memories hold one call's addresses
    const std::size_t operands = its.args.size() - 4;
    const auto set = [&](std::size_t which, void* data) {
        must(library().memory_set_data_handle(its.args.at(which).memory, data), "an address");
    };
    set(0, args.tensors[0].data);
    set(1, args.tensors[1].data);
    set(2, args.tensors.at(2 + operands).data);
    set(3, workspace);
    for (std::size_t i = 0; i < operands; ++i) {
        set(4 + i, args.tensors.at(2 + i).data);
    }
    const int before = omp_get_max_threads();
    omp_set_num_threads(std::max(1, device.units));
    const dnnl_status_t status = library().primitive_execute(
        its.primitive, library().stream, static_cast<int>(its.args.size()), its.args.data());
    library().stream_wait(library().stream);
    omp_set_num_threads(before);
    must(status, "the call");
}

#else  // without its headers

std::string why_not_loaded() {
    return "this build has no oneDNN 2 (Debian: libdnnl-dev)";
}
std::size_t scratch_bytes(const Product& /*product*/) {
    return 0;
}
void launch(const OperationArgs& /*args*/, int /*tile*/, const Device& /*device*/,
            void* /*workspace*/, void* /*stream*/) {
    fail(Status::unsupported, "{}", why_not_loaded());
}

#endif

}  // namespace raceline::kernels::linear_onednn
