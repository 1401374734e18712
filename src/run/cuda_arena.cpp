// SPDX-License-Identifier: Apache-2.0
#include "run/cuda_arena.hpp"

#include <algorithm>

#include "run/device_reference.hpp"
#include "support/rounding.hpp"

namespace raceline {
namespace {
constexpr std::size_t alignment = 256;  // of every tensor, as cudaMalloc gives
constexpr unsigned char poison = 0xFF;

/// `of` each input beside Q, K and V, in the order of CudaArena::Part.
template <class Of>
auto of_structure(const Inputs& in, const Of& of) {
    return std::array{of(in.sinks),         of(in.tree),         of(in.cu_seqlens_q),
                      of(in.cu_seqlens_k),  of(in.seqlens_k),    of(in.block_table),
                      of(in.k_scale),       of(in.v_scale),      of(in.q_scale),
                      of(in.k_token_scale), of(in.v_token_scale)};
}
}  // namespace

bool red_zone_intact(const std::byte* device_end) {
    std::array<std::byte, red_zone_bytes> zone{};
    cuda::download(zone.data(), device_end, zone.size());
    return std::all_of(zone.begin(), zone.end(),
                       [](std::byte b) { return b == std::byte{poison}; });
}

bool equal_on_device(const std::vector<SamePlaces>& places) {
    const cuda::DeviceBuffer count(sizeof(std::uint64_t));
    cuda::fill(count.data(), 0, count.bytes());
    for (const SamePlaces& place : places) {
        // What is left of a last word belongs to the gap behind, which is the same in all sets.
        const auto words = static_cast<std::int64_t>((place.bytes + 3) / 4);
        device_gate::count_different(place.one, place.other, words,
                                     reinterpret_cast<std::uint64_t*>(count.data()));
    }
    std::uint64_t found = 0;
    cuda::download(&found, count.data(), sizeof(found));
    return found == 0;
}

CudaArena::Layout CudaArena::make_layout(const Workload& w, const Inputs& in) {
    Layout layout;
    const auto sizes =
        of_structure(in, [](const auto& values) { return values.size() * sizeof(values[0]); });
    layout.bytes = {in.q_bytes, in.k_bytes, in.v_bytes};
    std::ranges::copy(sizes, layout.bytes.begin() + sinks);
    layout.bytes[o] = in.out_elements * static_cast<std::size_t>(bytes_of(w.out_dtype()));
    layout.bytes[l] = in.lse_elements * sizeof(float);
    for (std::size_t part = 0; part < parts; ++part) {
        layout.offset[part] = layout.total;
        const std::size_t end = layout.total + layout.bytes[part] + red_zone_bytes;
        layout.total = round_up(end, alignment);
    }
    return layout;
}

std::size_t CudaArena::set_bytes(const Workload& workload, const Inputs& inputs) {
    return make_layout(workload, inputs).total;
}

CudaArena::CudaArena(const Workload& workload, const Inputs& inputs, int count)
    : workload_(workload),
      inputs_(inputs),
      layout_(make_layout(workload, inputs)),
      memory_(layout_.total * static_cast<std::size_t>(count)) {
    cuda::fill(memory_.data(), poison, memory_.bytes());
}

std::array<const void*, CudaArena::parts> CudaArena::sources() const {
    std::array<const void*, parts> all{inputs_.q.data(), inputs_.k.data(), inputs_.v.data()};
    const auto structure =
        of_structure(inputs_, [](const auto& values) -> const void* { return values.data(); });
    std::ranges::copy(structure, all.begin() + sinks);
    return all;
}

std::byte* CudaArena::at(int index, Part part) const {
    return memory_.data() + layout_.total * static_cast<std::size_t>(index) + layout_.offset[part];
}

void CudaArena::upload_structure(int index) const {
    const auto from = sources();
    for (std::size_t part = sinks; part < o; ++part) {
        if (layout_.bytes[part] > 0) {
            cuda::upload(at(index, static_cast<Part>(part)), from[part], layout_.bytes[part]);
        }
    }
}

void CudaArena::upload_data(int index) const {
    const auto from = sources();
    for (const Part part : {q, k, v}) {
        if (layout_.bytes[part] > 0) {
            cuda::upload(at(index, part), from[part], layout_.bytes[part]);
        }
    }
}

void CudaArena::download_data(int index, Inputs& to) const {
    const auto fetch = [&](std::vector<std::byte>& host, Part part) {
        host.resize(layout_.bytes[part]);
        if (!host.empty()) {
            cuda::download(host.data(), at(index, part), host.size());
        }
    };
    fetch(to.q, q);
    fetch(to.k, k);
    fetch(to.v, v);
}

void CudaArena::copy_inputs(int index, const CudaArena& from, int from_index) const {
    for (std::size_t part = 0; part < o; ++part) {
        if (layout_.bytes[part] > 0) {
            const auto which = static_cast<Part>(part);
            cuda::copy(at(index, which), from.at(from_index, which), layout_.bytes[part]);
        }
    }
}

AttentionCall CudaArena::args(int index) const {
    // An absent input is a null pointer; an empty tensor still has an address.
    const auto optional = [&](Part part) {
        return layout_.bytes[part] > 0 ? at(index, part) : nullptr;
    };
    InputPointers to;
    to.q = at(index, q);
    to.k = at(index, k);
    to.v = workload_.mla ? to.k : at(index, v);
    to.out = at(index, o);
    to.lse = reinterpret_cast<float*>(at(index, l));
    to.sinks = reinterpret_cast<const float*>(optional(sinks));
    to.tree = reinterpret_cast<const std::uint32_t*>(optional(tree));
    to.cu_seqlens_q = reinterpret_cast<const std::int32_t*>(optional(cu_q));
    to.cu_seqlens_k = reinterpret_cast<const std::int32_t*>(optional(cu_k));
    to.seqlens_k = reinterpret_cast<const std::int32_t*>(optional(seqlens));
    to.block_table = reinterpret_cast<const std::int32_t*>(optional(table));
    to.k_scale = reinterpret_cast<const float*>(optional(k_scale));
    to.v_scale = reinterpret_cast<const float*>(optional(v_scale));
    to.q_scale = reinterpret_cast<const float*>(optional(q_scale));
    to.k_token_scale = reinterpret_cast<const float*>(optional(k_token_scale));
    to.v_token_scale = reinterpret_cast<const float*>(optional(v_token_scale));
    return make_args(workload_, inputs_, to);
}

std::vector<std::byte> CudaArena::out(int index) const {
    std::vector<std::byte> host(layout_.bytes[o]);
    cuda::download(host.data(), at(index, o), host.size());
    return host;
}

std::vector<float> CudaArena::lse(int index) const {
    std::vector<float> host(inputs_.lse_elements);
    cuda::download(host.data(), at(index, l), host.size() * sizeof(float));
    return host;
}

const void* CudaArena::out_address(int index) const {
    return at(index, o);
}

const float* CudaArena::lse_address(int index) const {
    return reinterpret_cast<const float*>(at(index, l));
}

bool CudaArena::same_outputs(int index, int other) const {
    const auto pair = [&](Part part) {
        return SamePlaces{at(index, part), at(other, part), layout_.bytes[part]};
    };
    return equal_on_device({pair(o), pair(l)});
}

std::string CudaArena::overrun(int index) const {
    if (!red_zone_intact(at(index, o) + layout_.bytes[o])) {
        return "it wrote past the end of the output";
    }
    return red_zone_intact(at(index, l) + layout_.bytes[l]) ? ""
                                                            : "it wrote past the end of the LSE";
}

}  // namespace raceline
