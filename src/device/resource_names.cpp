// SPDX-License-Identifier: Apache-2.0
#include "device/resource_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "device/catalog.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline {
namespace {

using namespace std::string_view_literals;

constexpr std::array other_resources{"byte.dram_read"sv,
                                     "byte.dram_write"sv,
                                     "byte.dram_copy"sv,
                                     "byte.llc"sv,
                                     "byte.l2"sv,
                                     "byte.l1"sv,
                                     "byte.l2_link"sv,
                                     "byte.smem_lsu"sv,
                                     "byte.smem_mma"sv,
                                     "op.issue"sv,
                                     "op.ex2"sv,
                                     "op.exp"sv,
                                     "op.simd"sv,
                                     "floor.launch_stream"sv,
                                     "floor.launch_graph"sv,
                                     "floor.call_stream"sv,
                                     "floor.call_graph"sv,
                                     "floor.cta"sv,
                                     "floor.parallel_region"sv,
                                     "latency.dram"sv,
                                     "latency.l2"sv,
                                     "latency.dram.loaded"sv,
                                     "latency.l2.loaded"sv,
                                     "latency.l2.far"sv,
                                     "size.l2.half"sv,
                                     "power.limit"sv,
                                     "power.idle"sv,
                                     "power.voltage_slope"sv};
constexpr std::array flop_engines{"wgmma"sv, "mma"sv, "tcgen05"sv, "mfma"sv,
                                  "fma"sv,   "dot"sv, "amx"sv};
constexpr std::array flop_types{"fp64"sv, "fp32"sv,  "tf32"sv,       "bf16"sv,      "fp16"sv,
                                "e4m3"sv, "nvfp4"sv, "fp16_acc16"sv, "e4m3_acc16"sv};
// What receipts hold besides: products of libraries, tokens that fit, bytes of buffers.
constexpr std::array no_rates{"gemm."sv, "capacity."sv, "memory."sv, "power.mix."sv};

const std::vector<std::string>& resource_names() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> list(other_resources.begin(), other_resources.end());
        for (const std::string_view engine : flop_engines) {
            for (const std::string_view type : flop_types) {
                list.push_back("flop." + std::string(engine) + "." + std::string(type));
            }
        }
        return list;
    }();
    return all;
}

// Without what says how it was measured: on one unit, before the power limit, by other
// instructions.
std::string_view stem_of(std::string_view resource) {
    constexpr std::string_view energy = "energy.";
    if (resource.starts_with(energy)) {
        resource.remove_prefix(energy.size());
    }
    resource = resource.substr(0, resource.find('@'));
    for (const std::string_view suffix : {".unit"sv, ".burst"sv}) {
        if (resource.ends_with(suffix)) {
            resource.remove_suffix(suffix.size());
        }
    }
    return resource;
}

}  // namespace

void check_given_ceiling(const Ceiling& ceiling) {
    const std::string& resource = ceiling.resource;
    const bool no_rate = std::ranges::any_of(
        no_rates, [&](std::string_view prefix) { return resource.starts_with(prefix); });
    if (no_rate) {
        return;
    }
    const std::vector<std::string_view> known(resource_names().begin(), resource_names().end());
    const std::string_view stem = stem_of(resource);
    if (std::ranges::find(known, stem) == known.end()) {
        const std::string_view near = nearest(stem, known);
        fail(Status::invalid_argument, "no device has a resource '{}'{}", resource,
             near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?");
    }
    const bool watts = resource == "power.limit" || resource == "power.idle";
    require(!watts || ceiling.unit == "W", Status::invalid_argument,
            "ceiling {}: its unit is \"{}\", not W", resource, ceiling.unit);
    try {
        check_ceiling(ceiling);
    } catch (const Error& error) {
        fail(Status::invalid_argument, "{}", error.what());
    }
}

}  // namespace raceline
