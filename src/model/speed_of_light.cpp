// SPDX-License-Identifier: Apache-2.0
#include "model/speed_of_light.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "device/rate_origin.hpp"
#include "model/constant.hpp"
#include "model/rates.hpp"
#include "workload/operation.hpp"

namespace raceline {
namespace {

// Products of narrower numbers that make one of fp32's 24 bits: two pieces of tf32 hold 22 of them
// and give three that count, three pieces of bf16 hold all and give six.
constexpr std::string_view in_pieces =
    "Ootomo and Yokota, Recovering single precision accuracy from Tensor Cores while surpassing "
    "the FP32 theoretical peak performance, IJHPCA 36, 2022";
constexpr std::string_view in_three_pieces =
    "Henry, Tang and Heinecke, Leveraging the bfloat16 artificial intelligence datatype for "
    "higher-precision computations, ARITH 26, 2019";
constexpr Constant tf32_products = manual("bound.fp32_by_tf32", 3, in_pieces);
constexpr Constant bf16_products = manual("bound.fp32_by_bf16", 6, in_three_pieces);

// An engine's operand type, by the end of its id.
struct Operand {
    std::string_view type;
    bool (*holds)(DType);              // every value of tensors of that type, as it is
    const Constant* products_of_fp32;  // null: its range is too small for pieces
};
using enum DType;
constexpr bool any_type(DType) {
    return true;
}
constexpr std::array operands{
    Operand{"fp64", any_type, nullptr},
    Operand{"fp32", any_type, nullptr},
    Operand{"tf32", [](DType t) { return t != fp32; }, &tf32_products},
    Operand{"bf16", [](DType t) { return t != fp32 && t != fp16; }, &bf16_products},
    Operand{"fp16", [](DType t) { return t != fp32 && t != bf16; }, nullptr},
    Operand{"e4m3", [](DType t) { return t == e4m3; }, nullptr},
    Operand{"nvfp4", [](DType t) { return t == nvfp4; }, nullptr},
};

// What all but matrix products run on: whatever the type, they are computed in fp32.
constexpr std::string_view ordinary_lanes = "flop.fma.fp32";

// Products on this engine that make one of `dtype`; 0: it cannot.
double products_for(const Operand& operand, DType dtype) {
    const bool pieces = dtype == fp32 && operand.products_of_fp32 != nullptr;
    return operand.holds(dtype) ? 1 : pieces ? operand.products_of_fp32->value : 0;
}

// "flop.<engine>.<type>" of the whole device, with sums in fp32 or better: null for other ids.
const Operand* operand_of(std::string_view id) {
    // Half-precision multiply-adds of ordinary lanes add in half precision.
    if (!id.starts_with("flop.") || id == "flop.fma.fp16") {
        return nullptr;
    }
    const std::string_view type = id.substr(id.rfind('.') + 1);
    const auto* const found = std::ranges::find(operands, type, &Operand::type);
    return found == operands.end() ? nullptr : found;
}

struct FastestEngine {
    std::string id;
    const Rate* rate = nullptr;
    double flops_per_second = 0;  // of the problem's own operations
};

FastestEngine fastest_engine(const Device& device, const ProblemWork& w) {
    FastestEngine best;
    for (const auto& [id, stated] : device.rates) {
        const Operand* operand = operand_of(id);
        if (operand == nullptr || (!w.matrix_products && id != ordinary_lanes)) {
            continue;
        }
        const double of_q = products_for(*operand, w.dtype);
        const double of_kv = products_for(*operand, w.other_dtype);
        const Rate* rate = highest_rate(device, id);
        const double speed = of_q == 0 || of_kv == 0 ? 0 : rate->value / std::max(of_q, of_kv);
        if (speed > best.flops_per_second) {
            best = {id, rate, speed};
        }
    }
    return best;
}

// A warm call's reads may lie in the cache, as far as it goes.
double dram_seconds(const BoundRates& rates, const ProblemWork& w, double kept) {
    if (rates.read == nullptr) {
        return 0;
    }
    double seconds = w.bytes_read / rates.read->value + w.bytes_written / rates.write->value;
    if (rates.copy != nullptr) {
        // Where reads and writes pass each other, a copy takes less than both by themselves.
        seconds += std::min(w.bytes_read, w.bytes_written) *
                   std::min(0.0, turnaround_seconds(rates.read->value, rates.write->value,
                                                    rates.copy->value));
    }
    const double bytes = w.bytes_read + w.bytes_written;
    return bytes > kept ? seconds * (1 - kept / bytes) : 0;
}

double compute_seconds(const BoundRates& rates, const ProblemWork& w) {
    return rates.of_engine != nullptr ? w.flops / rates.flops_per_second : 0;
}

std::string_view floor_of(const Device& device, const LaunchCase& how) {
    return device.kind == DeviceKind::cpu ? "floor.parallel_region"
           : how.launch_path == "graph"   ? "floor.launch_graph"
                                          : "floor.launch_stream";
}

void name_limiter(const Device& device, const BoundRates& rates, SpeedOfLight& bound) {
    const auto named = [&](std::string_view limiter, const Rate* rate) {
        bound.limiter = limiter;
        bound.rates = rate != nullptr ? origin_text(*rate) : "";
    };
    bound.seconds = std::max({bound.memory_seconds, bound.compute_seconds, bound.launch_seconds});
    if (bound.seconds <= 0) {
        return;
    }
    if (bound.seconds == bound.memory_seconds) {
        named(dram, rates.read);
    } else if (bound.seconds == bound.compute_seconds) {
        named(rates.engine, rates.of_engine);
    } else {
        named("launch", highest_rate(device, rates.floor));
    }
}

}  // namespace

ProblemWork work_of(const Workload& w) {
    const bool products = find_operation(w.op).matrix_products;
    // Steps behind a product (bias, gelu) are no work of the engine that multiplies.
    const double flops = products && !w.is_attention() ? 2.0 * static_cast<double>(w.extent("m")) *
                                                             static_cast<double>(w.extent("n")) *
                                                             static_cast<double>(w.extent("k"))
                                                       : w.flops();
    return {w.bytes_read(), w.bytes_written(), flops,
            products,       w.dtype,           w.is_attention() ? w.kv_dtype : w.dtype};
}

BoundRates bound_rates(const Device& device, const ProblemWork& work, const LaunchCase& how) {
    const FastestEngine engine = fastest_engine(device, work);
    BoundRates rates;
    rates.engine = engine.id;
    rates.of_engine = engine.rate;
    rates.flops_per_second = engine.flops_per_second;
    rates.read = highest_rate(device, "byte.dram_read");
    rates.write = highest_rate(device, "byte.dram_write");
    rates.write = rates.write != nullptr ? rates.write : rates.read;
    rates.copy = rates.read != nullptr ? highest_rate(device, "byte.dram_copy") : nullptr;
    rates.floor = floor_of(device, how);
    // Another board's floor is no bound of this one.
    const auto floor = device.rates.find(rates.floor);
    const bool own = floor != device.rates.end() && origin_of(floor->second) != RateOrigin::scaled;
    rates.floor_seconds = own ? floor->second.value : 0;
    rates.cache_bytes = how.cold ? 0 : static_cast<double>(device.llc_bytes);
    return rates;
}

SpeedOfLight speed_of_light(const Device& device, const BoundRates& rates, const ProblemWork& w) {
    const double bytes = w.bytes_read + w.bytes_written;
    SpeedOfLight bound;
    bound.engine = rates.engine;
    bound.memory_seconds = dram_seconds(rates, w, rates.cache_bytes);
    bound.compute_seconds = compute_seconds(rates, w);
    bound.launch_seconds = rates.floor_seconds;
    bound.arithmetic_intensity = bytes > 0 ? w.flops / bytes : 0;
    // At the bandwidth of this mix of reads and writes, as of a kernel's roofline.
    bound.ridge = bytes > 0 ? rates.flops_per_second * dram_seconds(rates, w, 0) / bytes : 0;
    name_limiter(device, rates, bound);
    if (bound.limiter.empty() && bytes <= 0 && w.flops <= 0) {
        bound.limiter = "launch";  // there is nothing else
    }
    return bound;
}

double bound_seconds(const BoundRates& rates, const ProblemWork& w) {
    return std::max({dram_seconds(rates, w, rates.cache_bytes), compute_seconds(rates, w),
                     rates.floor_seconds});
}

SpeedOfLight speed_of_light(const Device& device, const ProblemWork& w, const LaunchCase& how) {
    return speed_of_light(device, bound_rates(device, w, how), w);
}

SpeedOfLight speed_of_light(const Device& device, const Workload& w, const LaunchCase& how) {
    return speed_of_light(device, work_of(w), how);
}

}  // namespace raceline
