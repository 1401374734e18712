// SPDX-License-Identifier: Apache-2.0
#include "tensor.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "element_types.hpp"
#include "support/one_line.hpp"

namespace raceline::python {
namespace {

std::string list(const std::vector<std::int64_t>& values) {
    return fmt::format("({})", fmt::join(values, ", "));
}

}  // namespace

void raise_type_error(const std::string& sentence) {
    throw nb::type_error(one_line(sentence).c_str());
}

void raise_value_error(const std::string& sentence) {
    throw nb::value_error(one_line(sentence).c_str());
}

std::string type_name(const ElementType& type) {
    const auto* const named = std::ranges::find(named_types, type, &NamedType::type);
    return named == named_types.end() ? fmt::format("DLPack {}/{}", type.code, type.bits)
                                      : named->name;
}

DType storage_type(const Tensor& tensor) {
    constexpr std::array storage{DType::fp32, DType::fp16, DType::bf16, DType::e4m3};
    for (std::size_t i = 0; i < storage.size(); ++i) {
        if (tensor.type == named_types[i].type) {
            return storage[i];
        }
    }
    raise_type_error(fmt::format(
        "{} has dtype {}; tensors are float32, float16, bfloat16 or (caches) float8_e4m3fn",
        tensor.name, type_name(tensor.type)));
}

TensorView view_of(const Tensor& tensor) {
    return {tensor.data, storage_type(tensor), tensor.shape, tensor.strides};
}

bool is_contiguous(const Tensor& tensor) {
    std::int64_t stride = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        if (tensor.shape[i] > 1 && tensor.strides[i] != stride) {
            return false;
        }
        stride *= tensor.shape[i];
    }
    return true;
}

namespace {

void require_type(const Tensor& tensor, ElementType type) {
    if (tensor.type != type) {
        raise_type_error(fmt::format("{} has dtype {}; it must be {}", tensor.name,
                                     type_name(tensor.type), type_name(type)));
    }
}

void require_contiguous(const Tensor& tensor) {
    if (!is_contiguous(tensor)) {
        raise_value_error(fmt::format("{} has strides {} for shape {}; it must be contiguous",
                                      tensor.name, list(tensor.strides), list(tensor.shape)));
    }
}

}  // namespace

const float* float_array(const Tensor& tensor, const std::vector<std::int64_t>& shape) {
    require_type(tensor, named_types[0].type);
    if (tensor.shape != shape) {
        raise_value_error(fmt::format("{} has shape {}; it must be {}", tensor.name,
                                      list(tensor.shape), list(shape)));
    }
    require_contiguous(tensor);
    return static_cast<const float*>(tensor.data);
}

const std::int32_t* int32_array(const Tensor& tensor, std::size_t rank) {
    require_type(tensor, {dlpack::integer, 32});
    if (tensor.shape.size() != rank) {
        raise_value_error(fmt::format("{} has shape {}; it must have {} dimension{}", tensor.name,
                                      list(tensor.shape), rank, rank == 1 ? "" : "s"));
    }
    require_contiguous(tensor);
    return static_cast<const std::int32_t*>(tensor.data);
}

const std::uint32_t* word_array(const Tensor& tensor, const std::vector<std::int64_t>& shape) {
    if (tensor.type != ElementType{dlpack::integer, 32}) {
        require_type(tensor, {dlpack::unsigned_integer, 32});
    }
    if (tensor.shape != shape) {
        raise_value_error(fmt::format("{} has shape {}; it must be {}", tensor.name,
                                      list(tensor.shape), list(shape)));
    }
    require_contiguous(tensor);
    return static_cast<const std::uint32_t*>(tensor.data);
}

void require_same_device(const Tensor& tensor, const Tensor& first) {
    const auto where = [](const Tensor& t) {
        return t.place == Place::cpu ? std::string("the CPU")
                                     : fmt::format("CUDA device {}", t.device);
    };
    if (tensor.place != first.place || tensor.device != first.device) {
        raise_value_error(
            fmt::format("{} is on {} and {} on {}; all tensors of a call must be on "
                        "one device",
                        tensor.name, where(tensor), first.name, where(first)));
    }
}

}  // namespace raceline::python
