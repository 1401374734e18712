// SPDX-License-Identifier: Apache-2.0
#include "run/device_inputs.hpp"

#include <array>

#include "run/device_draw.hpp"
#include "run/device_memory.hpp"
#include "workload/block_table.hpp"
#include "workload/draw.hpp"
#include "workload/normal.hpp"

namespace raceline {
namespace {

/// Tables of the element types, uploaded once a process and type.
const void* table_on_device(DType dtype) {
    static std::array<cuda::DeviceBuffer, 5> tables;
    cuda::DeviceBuffer& table = tables.at(static_cast<std::size_t>(dtype));
    if (table.data() == nullptr) {
        const auto host = normal_table(dtype);
        table = cuda::DeviceBuffer(host.size());
        cuda::upload(table.data(), host.data(), host.size());
    }
    return table.data();
}

}  // namespace

DeviceInputs::DeviceInputs(const Workload& workload, std::uint64_t seed, Draw draw)
    : workload_(workload),
      seed_(seed),
      draw_(draw),
      inputs_(make_inputs(workload, {.seed = seed, .draw = draw, .data = false})),
      untouched_(workload, inputs_, 1) {
    untouched_.upload_structure(0);
    if (workload_.page_size != 0) {
        slots_ = on_device(token_slots(workload_, inputs_));
    }
    if (workload_.kv_dtype == DType::nvfp4) {
        untouched_.upload_data(0);
    } else {
        draw_inputs();
    }
}

const std::int64_t* DeviceInputs::slots() const {
    return address<std::int64_t>(slots_);
}

void DeviceInputs::draw_inputs() {
    const Workload& w = workload_;
    const AttentionCall args = untouched_.args(0);
    const std::int64_t channel = draw_ == Draw::outliers ? outlier_channel(w, seed_) : -1;
    const auto tensor = [&](const void* to, DType dtype, std::int64_t heads, std::int64_t width,
                            std::uint64_t stream) {
        device_gate::Fill fill{};
        fill.to = const_cast<void*>(to);
        fill.dtype = dtype;
        fill.tokens = w.tokens_k();
        fill.heads = heads;
        fill.width = width;
        fill.slots = slots();
        fill.key = stream_key(seed_, stream);
        fill.factor = 1;
        fill.bias = draw_ == Draw::biased ? static_cast<float>(draw_bias) : 0;
        fill.loud_channel = channel;
        fill.loud_second = -1;
        fill.loud_factor = static_cast<float>(outlier_factor);
        fill.seed = seed_;
        fill.table = table_on_device(dtype);
        return fill;
    };
    device_gate::Fill queries = tensor(args.q.data, w.dtype, w.heads_q, w.headdim, stream_q);
    queries.tokens = w.tokens_q();
    queries.slots = nullptr;
    queries.factor = draw_ == Draw::peaked ? static_cast<float>(peak_factor) : 1;
    queries.bias = 0;
    queries.loud_second = channel < 0 ? -1 : (channel + 1) % w.headdim;
    queries.every_other_row = true;
    device_gate::fill(queries);
    device_gate::fill(tensor(args.k.data, w.kv_dtype, w.heads_kv, w.headdim, stream_k));
    if (!w.mla) {
        auto values = tensor(args.v.data, w.kv_dtype, w.heads_kv, w.headdim_v, stream_v);
        values.loud_channel = -1;
        device_gate::fill(values);
    }
    cuda::synchronize();
    place_single_values();
}

void DeviceInputs::place_single_values() const {
    const Workload& w = workload_;
    const AttentionCall args = untouched_.args(0);
    const auto put = [](const void* tensor, std::size_t offset, const void* from,
                        std::size_t bytes) {
        cuda::upload(static_cast<std::byte*>(const_cast<void*>(tensor)) + offset, from, bytes);
    };
    if (draw_ == Draw::outliers && !w.mla) {
        const std::vector<std::int64_t> slots = token_slots(w, inputs_);
        for (const LoudValue& loud : loud_values(w)) {
            const std::vector<std::byte> row = loud_value_row(w, seed_, loud);
            put(args.v.data, row.size() * static_cast<std::size_t>(slots[loud.token]), row.data(),
                row.size());
        }
    }
    if (draw_ == Draw::non_finite) {
        const std::vector<std::int64_t> slots = token_slots(w, inputs_);
        for (const NonFinite& one : non_finite_places(w, seed_)) {
            const StoredElement at = stored_element(w, one, slots);
            const auto bytes = static_cast<std::size_t>(bytes_of(at.dtype));
            std::array<std::byte, 4> element{};
            store_element(element.data(), at.dtype, 0, one.value);
            const void* const tensor = one.tensor == NonFinite::Tensor::q   ? args.q.data
                                       : one.tensor == NonFinite::Tensor::k ? args.k.data
                                                                            : args.v.data;
            put(tensor, at.index * bytes, element.data(), bytes);
        }
    }
}

Inputs DeviceInputs::with_data() const {
    Inputs whole = inputs_;
    if (whole.q.empty()) {
        untouched_.download_data(0, whole);
    }
    return whole;
}

}  // namespace raceline
