// SPDX-License-Identifier: Apache-2.0
#include "ladder/tracks/record.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::tracks {
namespace {

std::string types_of(const Workload& w) {
    return std::string(name_of(w.dtype)) + " and " + name_of(w.kv_dtype);
}

// The first feature of a workload that rungs of prefill do not take, or "".
std::string beyond_shape(const Workload& w) {
    if (w.headdim != 64 && w.headdim != 128) {
        return "it takes head dims 64 and 128";
    }
    if (w.headdim_v != w.headdim || w.mla) {
        return "its V is as wide as its K, and no part of it";
    }
    if (w.heads_q != w.heads_kv) {
        return "it has no grouped heads";
    }
    if (w.ragged() || w.page_size > 0) {
        return "it takes contiguous sequences of one length";
    }
    if (has_window(w) || w.softcap != 0 || w.sinks) {
        return "it knows no window, softcap or sinks";
    }
    if (w.batch * w.heads_q * std::max<std::int64_t>(w.seqlen_q, 1) >
        std::numeric_limits<std::int32_t>::max()) {
        return "it counts the query rows of all heads in 31 bits";
    }
    return {};
}

}  // namespace

std::string first_of(std::initializer_list<std::string> reasons) {
    const auto* const found = std::find_if(reasons.begin(), reasons.end(),
                                           [](const std::string& r) { return !r.empty(); });
    return found == reasons.end() ? std::string() : *found;
}

std::string beyond_types(const Workload& w, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
    }
    if ((w.dtype != DType::fp32 && w.dtype != DType::fp16) || w.kv_dtype != w.dtype) {
        return "it reads Q, K and V all in fp32 or all in fp16, not " + types_of(w);
    }
    return {};
}

std::string beyond_floats(const Workload& w, const Device& device) {
    return first_of({beyond_types(w, device), beyond_shape(w)});
}

std::string beyond_halves(const Workload& w, const Device& device) {
    if (device.kind != DeviceKind::cuda || !device.find("flop.mma.fp16")) {
        return "it needs an NVIDIA GPU with tensor cores for fp16";
    }
    if (w.dtype != DType::fp16 || w.kv_dtype != DType::fp16) {
        return "it multiplies fp16 matrices, not " + types_of(w);
    }
    return beyond_shape(w);
}

Precision float_precision(const Workload& w) {
    const Rounding output = w.dtype == DType::fp16 ? Rounding::fp16 : Rounding::fp32;
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, output};
}

Precision half_precision(const Workload&) {
    return {Rounding::fp16, Rounding::fp32, Rounding::fp16, Rounding::fp32_rz, Rounding::fp16};
}

}  // namespace raceline::kernels::tracks
