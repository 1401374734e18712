// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's matrix product with its epilogues, by dlopen: the library is large, and who computes
// no product does not need it. It stores matrices by columns, so that it is asked for yᵀ = wᵀ · xᵀ.
// What it chose for a problem is kept.
#include <compare>
#include <cublasLt.h>
#include <map>
#include <mutex>
#include <string>

#include "device/device.hpp"
#include "kernels/linear_cublaslt/tile.hpp"
#include "raceline/error.hpp"
#include "support/shared_library.hpp"

namespace raceline::kernels::linear_cublaslt {
namespace {

/// Functions of the library that are called, under their names without cublasLt.
struct Library {
    decltype(&cublasLtCreate) Create = nullptr;
    decltype(&cublasLtMatmulDescCreate) MatmulDescCreate = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) MatmulDescSetAttribute = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) MatrixLayoutCreate = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) MatmulPreferenceCreate = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) MatmulPreferenceSetAttribute = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) MatmulAlgoGetHeuristic = nullptr;
    decltype(&cublasLtMatmul) Matmul = nullptr;
    cublasLtHandle_t handle = nullptr;
    bool loaded = false;

    Library() {
        const SharedLibrary shared{"libcublasLt.so.13", "libcublasLt.so.12"};
        loaded =
            shared.find(Create, "cublasLtCreate") &&
            shared.find(MatmulDescCreate, "cublasLtMatmulDescCreate") &&
            shared.find(MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute") &&
            shared.find(MatrixLayoutCreate, "cublasLtMatrixLayoutCreate") &&
            shared.find(MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate") &&
            shared.find(MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute") &&
            shared.find(MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic") &&
            shared.find(Matmul, "cublasLtMatmul") && Create(&handle) == CUBLAS_STATUS_SUCCESS;
    }
};

void require(bool holds, const std::string& sentence) {
    if (!holds) {
        throw Error(Status::unsupported, sentence);
    }
}

const Library& library() {
    static const Library its;
    require(its.loaded,
            "cuBLASLt is not on this machine: it is part of the CUDA toolkit (libcublasLt.so.13)");
    return its;
}

void must(cublasStatus_t status, const char* what) {
    require(status == CUBLAS_STATUS_SUCCESS, std::string("cuBLASLt refuses the product: ") + what +
                                                 " gives " + std::to_string(status));
}

/// What an algorithm is chosen for.
struct ProductKey {
    std::int64_t m, n, k;
    DType dtype;
    bool by_rows;  ///< weights are (n, k), as a linear layer's; else (k, n)
    Epilogue epilogue;

    auto operator<=>(const ProductKey&) const = default;
};

struct Plan {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t weights = nullptr, x = nullptr, y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    std::mutex in_use;
};

cudaDataType_t type_of(DType dtype) {
    return dtype == DType::fp32 ? CUDA_R_32F : dtype == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

cublasLtEpilogue_t epilogue_of(const Epilogue& e) {
    if (e.relu) {
        return e.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    }
    if (e.gelu) {
        return e.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    }
    return e.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

template <class Value>
void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t which, const Value& value) {
    must(library().MatmulDescSetAttribute(product, which, &value, sizeof(value)), "an attribute");
}

cublasLtMatrixLayout_t matrix(DType dtype, std::int64_t rows, std::int64_t columns) {
    cublasLtMatrixLayout_t layout = nullptr;
    must(library().MatrixLayoutCreate(&layout, type_of(dtype), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), rows),
         "a layout");
    return layout;
}

void choose(const ProductKey& p, const void* bias, Plan& plan) {
    const Library& lt = library();
    // Sums of fp32 products stay in fp32: TF32 would be another, less accurate operation.
    must(lt.MatmulDescCreate(&plan.product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product");
    set(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, p.by_rows ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p.epilogue));
    if (p.epilogue.bias) {
        set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(p.dtype));
    }
    plan.weights = p.by_rows ? matrix(p.dtype, p.k, p.n) : matrix(p.dtype, p.n, p.k);
    plan.x = matrix(p.dtype, p.k, p.m);
    plan.y = matrix(p.dtype, p.n, p.m);
    cublasLtMatmulPreference_t preference = nullptr;
    must(lt.MatmulPreferenceCreate(&preference), "a preference");
    must(lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &scratch_bytes, sizeof(scratch_bytes)),
         "a preference");
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    must(lt.MatmulAlgoGetHeuristic(lt.handle, plan.product, plan.weights, plan.x, plan.y, plan.y,
                                   preference, 1, &best, &found),
         "the choice of an algorithm");
    require(found > 0, "cuBLASLt has no algorithm for this product");
    plan.algorithm = best.algo;
}

Plan& plan_of(const ProductKey& key, const void* bias) {
    static std::mutex lock;
    static std::map<ProductKey, Plan> all;
    const std::scoped_lock held(lock);
    Plan& plan = all[key];
    if (plan.product == nullptr) {
        choose(key, bias, plan);
    }
    return plan;
}

}  // namespace

void launch(const OperationArgs& args, int /*tile*/, const Device& /*device*/, void* workspace,
            void* stream) {
    ProductKey p{args.extents[0], args.extents[1],     args.extents[2],
                 args.dtype,      args.codes[0] == -1, {}};
    const void* bias = nullptr;
    const void* added = nullptr;
    std::size_t tensor = 2;
    for (std::int32_t i = 1; i < args.code_count; ++i) {
        const auto step = static_cast<RowStep>(args.codes.at(static_cast<std::size_t>(i)));
        require(append(p.epilogue, step),
                "cuBLASLt has no epilogue for " + std::string(form_of(step).name));
        const void*& operand = step == RowStep::bias ? bias : added;
        if (form_of(step).operand != RowOperand::none) {
            operand = args.tensors.at(tensor++).data;
        }
    }
    void* y = args.tensors.at(tensor).data;
    Plan& plan = plan_of(p, bias);
    const std::scoped_lock held(plan.in_use);  // its description holds one call's bias
    if (bias != nullptr) {
        set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const float one = 1;
    const float of_added = added != nullptr ? 1 : 0;
    must(library().Matmul(library().handle, plan.product, &one, args.tensors[1].data, plan.weights,
                          args.tensors[0].data, plan.x, &of_added, added != nullptr ? added : y,
                          plan.y, y, plan.y, &plan.algorithm, workspace, scratch_bytes,
                          static_cast<cudaStream_t>(stream)),
         "the call");
}

}  // namespace raceline::kernels::linear_cublaslt
