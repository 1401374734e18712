// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "call.hpp"

namespace raceline::python {
namespace {

[[noreturn]] void refuse_prediction() {
    throw Error(Status::unsupported,
                "predict takes no partial results; a shape says the same: "
                "op=combine,parts=8,rows=4096,heads=32,d=128,dtype=bf16");
}

}  // namespace

CombineCall::CombineCall(const Inputs& inputs) {
    const Tensor& parts = keep(inputs.tensor(Argument::out_parts));
    const Tensor& lses = keep(inputs.tensor(Argument::lse_parts));
    if (parts.shape.size() != 4) {
        raise_value_error(
            fmt::format("out_parts has {} dimensions; it must have 4, (parts, rows, "
                        "heads, headdim)",
                        parts.shape.size()));
    }
    args_.out_parts = view_of(parts);
    args_.lse_parts = view_of(lses);
    out_shape_ = {parts.shape[1], parts.shape[2], parts.shape[3]};
    args_.out = TensorView::contiguous(nullptr, args_.out_parts.dtype, out_shape_);
    if (inputs.has(Argument::sinks)) {
        args_.sinks = float_array(keep(inputs.tensor(Argument::sinks)), {parts.shape[2]});
    }
}

std::string CombineCall::predict(const std::string& /*device*/) const {
    refuse_prediction();
}

std::string CombineCall::key() const {
    refuse_prediction();
}

}  // namespace raceline::python
