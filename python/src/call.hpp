// SPDX-License-Identifier: Apache-2.0
// The calls as Python prepares them: read and checked first, then run on outputs that the
// caller's own library allocated, or only predicted.
#pragma once

#include <array>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <span>
#include <string>
#include <vector>

#include "api/own_workspace.hpp"
#include "inputs.hpp"
#include "raceline/raceline.hpp"
#include "tensor.hpp"

namespace raceline::python {

class Call {
public:
    Call() { tensors_.reserve(most_tensors); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    virtual ~Call() = default;

    /// What the call was made of first: q, or the parts that are combined.
    [[nodiscard]] const Tensor& first() const { return tensors_.front(); }
    [[nodiscard]] const std::vector<std::int64_t>& out_sizes() const { return out_shape_; }
    [[nodiscard]] nb::tuple out_shape() const;
    /// The output's shape without the head dimension.
    [[nodiscard]] nb::tuple lse_shape() const;
    /// Bytes of workspace that `run` wants; on a CPU it brings its own.
    [[nodiscard]] std::size_t workspace_bytes() const;
    /// out and lse (or None): tensors that nothing else uses. workspace: an address, 0 on a CPU.
    void run(nb::handle out, nb::handle lse, std::uintptr_t workspace, std::size_t bytes,
             std::uintptr_t stream);
    /// The same, with workspace that the call asks for without the interpreter's lock.
    void run(nb::handle out, nb::handle lse, std::uintptr_t stream, const api::Allocate& allocate);

    /// The predicted case as JSON; and everything that it depends on, as a key.
    [[nodiscard]] virtual std::string predict(const std::string& device) const = 0;
    [[nodiscard]] virtual std::string key() const = 0;

protected:
    virtual std::size_t workspace(Place place) const = 0;
    virtual void launch(const Execution& execution) = 0;
    virtual void launch(Place place, void* stream, const api::Allocate& allocate) = 0;
    virtual TensorView& out() = 0;
    virtual TensorView& lse() = 0;

    /// What keeps their memory alive.
    [[nodiscard]] std::array<Tensor, 2> take_outputs(nb::handle out, nb::handle lse,
                                                     std::uintptr_t stream);
    /// Reads a tensor, keeps its memory alive and checks that it is where the first one is.
    const Tensor& keep(Tensor tensor);
    void set_out_shape(const Tensor& q, const Tensor& v);

    /// No call keeps more: what `keep` gave stays where it is.
    static constexpr std::size_t most_tensors = 11;
    std::vector<Tensor> tensors_;
    std::vector<std::int64_t> out_shape_;
};

/// A call with the library's own arguments.
template <class Args>
class CallOf : public Call {
protected:
    TensorView& out() override { return args_.out; }
    TensorView& lse() override { return args_.lse; }

    Args args_;
};

/// raceline::forward. Names: q k v sinks cu_seqlens_q cu_seqlens_k (host), device_cu_seqlens_q
/// device_cu_seqlens_k q_scale k_scale v_scale, and the options.
class ForwardCall final : public CallOf<ForwardArgs> {
public:
    explicit ForwardCall(const Inputs& inputs);
    std::string predict(const std::string& device) const override;
    std::string key() const override;

protected:
    std::size_t workspace(Place place) const override { return forward_workspace(args_, place); }
    void launch(const Execution& execution) override { forward(args_, execution); }
    void launch(Place place, void* stream, const api::Allocate& allocate) override {
        api::forward(args_, place, stream, allocate);
    }

private:
    void read_prefix_sums(const Inputs& inputs);
    void read_scales(const Inputs& inputs);
};

/// raceline::decode. Names: q k_cache v_cache sinks tree block_table seqlens max_seqlen
/// cu_seqlens_q max_seqlen_q k_scale v_scale checked, and the options.
class DecodeCall final : public CallOf<DecodeArgs> {
public:
    explicit DecodeCall(const Inputs& inputs);
    std::string predict(const std::string& device) const override;
    std::string key() const override;

protected:
    std::size_t workspace(Place place) const override { return decode_workspace(args_, place); }
    void launch(const Execution& execution) override { decode(args_, execution); }
    void launch(Place place, void* stream, const api::Allocate& allocate) override {
        api::decode(args_, place, stream, allocate);
    }

private:
    void read_cache(const Inputs& inputs);
    void read_scales(const Inputs& inputs);
    void read_lengths(const Inputs& inputs);
    void read_prefix_sums(const Inputs& inputs);
    [[nodiscard]] std::int64_t batch() const;
    /// seqlens and cu_seqlens_q where the host can see them, else nothing.
    [[nodiscard]] std::span<const std::int32_t> host_lengths() const;
    [[nodiscard]] std::span<const std::int32_t> host_sums() const;
};

/// raceline::combine. Names: out_parts lse_parts sinks.
class CombineCall final : public CallOf<CombineArgs> {
public:
    explicit CombineCall(const Inputs& inputs);
    /// Refused: a shape says the same.
    std::string predict(const std::string& device) const override;
    std::string key() const override;

protected:
    std::size_t workspace(Place /*place*/) const override { return 0; }
    void launch(const Execution& execution) override { combine(args_, execution); }
    void launch(Place place, void* stream, const api::Allocate& /*allocate*/) override {
        combine(args_, {.place = place, .stream = stream});
    }
};

}  // namespace raceline::python
