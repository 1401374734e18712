// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <new>
#include <utility>

#include "options.hpp"

namespace raceline::python {
namespace {

// Host scratch that a thread keeps, as large as its largest call wanted: fresh pages would cost
// more than a short call. It is a few hundred KiB a core.
class HostWorkspace {
public:
    HostWorkspace() = default;
    HostWorkspace(const HostWorkspace&) = delete;
    HostWorkspace& operator=(const HostWorkspace&) = delete;
    ~HostWorkspace() { ::operator delete(data_, alignment); }

    void* at_least(std::size_t bytes) {
        if (bytes > bytes_) {
            ::operator delete(std::exchange(data_, nullptr), alignment);
            bytes_ = 0;
            data_ = ::operator new(bytes, alignment);
            bytes_ = bytes;
        }
        return data_;
    }

private:
    static constexpr std::align_val_t alignment{workspace_alignment};
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

HostWorkspace& host_workspace() {
    thread_local HostWorkspace workspace;
    return workspace;
}

nb::tuple tuple_of(std::span<const std::int64_t> sizes) {
    nb::list list;
    for (const std::int64_t size : sizes) {
        list.append(size);
    }
    return nb::tuple(list);
}

}  // namespace

const Tensor& Call::keep(Tensor tensor) {
    if (!tensors_.empty()) {
        require_same_device(tensor, tensors_.front());
    }
    return tensors_.emplace_back(std::move(tensor));
}

void Call::set_out_shape(const Tensor& q, const Tensor& v) {
    out_shape_ = q.shape;
    // A tensor without dimensions is refused by the library, by name.
    if (!out_shape_.empty() && !v.shape.empty()) {
        out_shape_.back() = v.shape.back();
    }
    const DType type = storage_type(q);
    out() = TensorView::contiguous(nullptr, type == DType::e4m3 ? DType::bf16 : type, out_shape_);
}

nb::tuple Call::out_shape() const {
    return tuple_of(out_shape_);
}

nb::tuple Call::lse_shape() const {
    const std::span<const std::int64_t> sizes = out_shape_;
    return tuple_of(sizes.first(sizes.empty() ? 0 : sizes.size() - 1));
}

std::size_t Call::workspace_bytes() const {
    return workspace(tensors_.front().place);
}

std::array<Tensor, 2> Call::take_outputs(nb::handle out_tensor, nb::handle lse_tensor,
                                         std::uintptr_t stream) {
    const nb::object ready = first().place == Place::cpu ? nb::none() : nb::cast(stream);
    Tensor result = read_tensor("out", out_tensor, ready);
    out().data = result.data;
    out().dtype = storage_type(result);
    out().strides = result.strides;
    Tensor sums;
    if (!lse_tensor.is_none()) {
        sums = read_tensor("lse", lse_tensor, ready);
        lse() = {sums.data, DType::fp32, sums.shape, sums.strides};
    }
    return {std::move(result), std::move(sums)};
}

void Call::run(nb::handle out_tensor, nb::handle lse_tensor, std::uintptr_t workspace_address,
               std::size_t bytes, std::uintptr_t stream) {
    if (first().place == Place::cpu) {
        run(out_tensor, lse_tensor, stream,
            [](std::size_t wanted) { return host_workspace().at_least(wanted); });
        return;
    }
    const auto outputs = take_outputs(out_tensor, lse_tensor, stream);
    const nb::gil_scoped_release released;
    launch({.place = first().place,
            .stream = pointer(stream),
            .workspace = pointer(workspace_address),
            .workspace_bytes = bytes});
}

void Call::run(nb::handle out_tensor, nb::handle lse_tensor, std::uintptr_t stream,
               const api::Allocate& allocate) {
    const auto outputs = take_outputs(out_tensor, lse_tensor, stream);
    const nb::gil_scoped_release released;
    launch(first().place, pointer(stream), allocate);
}

ForwardCall::ForwardCall(const Inputs& inputs) {
    const Tensor& q = keep(inputs.tensor(Argument::q));
    const Tensor& k = keep(inputs.tensor(Argument::k));
    const Tensor& v = keep(inputs.tensor(Argument::v));
    args_.q = view_of(q);
    args_.k = view_of(k);
    args_.v = view_of(v);
    args_.options = inputs.options();
    set_out_shape(q, v);
    read_prefix_sums(inputs);
    if (inputs.has(Argument::sinks)) {
        // A q of too few dimensions is refused by the library, by name.
        const std::int64_t heads = q.shape.size() < 2 ? 0 : q.shape[q.shape.size() - 2];
        args_.options.sinks = float_array(keep(inputs.tensor(Argument::sinks)), {heads});
    }
    read_scales(inputs);
}

// A float32 a sequence and KV head of tensors in e4m3; the library refuses them for others.
void ForwardCall::read_scales(const Inputs& inputs) {
    const std::vector<std::int64_t>& k = tensors_[1].shape;
    const auto sums = std::max(static_cast<std::int64_t>(args_.cu_seqlens_q.size()),
                               args_.device_cu_seqlens_count);
    const bool ragged = sums > 0;
    const std::int64_t batch = ragged                      ? sums - 1
                               : tensors_[0].shape.empty() ? 0
                                                           : tensors_[0].shape[0];
    const std::vector<std::int64_t> shape{batch, k.size() < 2 ? 0 : k[k.size() - 2]};
    const auto read = [&](Argument name) -> const float* {
        return inputs.has(name) ? float_array(keep(inputs.tensor(name)), shape) : nullptr;
    };
    args_.q_scale = read(Argument::q_scale);
    args_.k_scale = read(Argument::k_scale);
    args_.v_scale = read(Argument::v_scale);
}

void ForwardCall::read_prefix_sums(const Inputs& inputs) {
    const auto is_given = [&](Argument host, Argument device) {
        return inputs.has(host) || inputs.has(device);
    };
    const bool ragged_q = is_given(Argument::cu_seqlens_q, Argument::device_cu_seqlens_q);
    const bool ragged_k = is_given(Argument::cu_seqlens_k, Argument::device_cu_seqlens_k);
    const auto bound = [&](Argument argument) {
        const std::int64_t most =
            inputs.has(argument) ? read_integer(name_of(argument), inputs.at(argument)) : 0;
        if (inputs.has(argument) && most < 1) {
            raise_value_error(
                fmt::format("{} is {}; it must be 1 or more", name_of(argument), most));
        }
        return most;
    };
    args_.max_seqlen_q = bound(Argument::max_seqlen_q);
    args_.max_seqlen_k = bound(Argument::max_seqlen_k);
    if (ragged_q != ragged_k) {
        raise_value_error(
            fmt::format("{} is None; a ragged call needs cu_seqlens_q and "
                        "cu_seqlens_k",
                        ragged_q ? "cu_seqlens_k" : "cu_seqlens_q"));
    }
    if (!ragged_q) {
        return;
    }
    const auto host = [&](Argument argument) {
        // Always on the host, wherever the call is, and so not kept by the device check.
        const char* const name = name_of(argument);
        Tensor sums = read_tensor(name, inputs.at(argument), nb::none());
        const std::int32_t* data = int32_array(sums, 1);
        const auto count = static_cast<std::size_t>(sums.shape[0]);
        if (count == 0) {
            raise_value_error(fmt::format("{} is empty; it needs batch + 1 entries", name));
        }
        sums.place = tensors_.front().place;
        sums.device = tensors_.front().device;
        keep(std::move(sums));
        return std::span(data, count);
    };
    if (inputs.has(Argument::device_cu_seqlens_q)) {
        const Tensor& sums_q = keep(inputs.tensor(Argument::device_cu_seqlens_q));
        const std::vector<std::int64_t> shape_q = sums_q.shape;
        args_.device_cu_seqlens_q = int32_array(sums_q, 1);
        args_.device_cu_seqlens_k =
            int32_array(keep(inputs.tensor(Argument::device_cu_seqlens_k)), 1);
        if (tensors_.back().shape != shape_q) {
            raise_value_error(
                fmt::format("cu_seqlens_q has {} entries and cu_seqlens_k has {}; "
                            "both need batch + 1",
                            shape_q.front(), tensors_.back().shape.front()));
        }
        args_.device_cu_seqlens_count = inputs.has(Argument::cu_seqlens_q) ? 0 : shape_q.front();
        if (!inputs.has(Argument::cu_seqlens_q)) {
            return;
        }
    }
    args_.cu_seqlens_q = host(Argument::cu_seqlens_q);
    args_.cu_seqlens_k = host(Argument::cu_seqlens_k);
}

}  // namespace raceline::python
