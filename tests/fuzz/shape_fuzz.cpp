// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any text is a shape that survives the round trip, or is refused by an Error. So is any
// text as a suite name and as a workload of a receipt.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "raceline/error.hpp"
#include "workload/plainest.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace {

/// Everything that a workload answers must stay defined for every workload that is accepted.
void exercise(const raceline::Workload& workload) {
    const std::string text = raceline::format_shape(workload);
    if (raceline::parse_shape(text) != raceline::canonical(workload) ||
        raceline::workload_from_json(raceline::workload_to_json(workload)) != workload) {
        std::abort();
    }
    const double pairs = workload.visited_pairs();
    if (!(pairs >= 0) || !(workload.flops() >= 0) || !(workload.bytes_kv() >= 0)) {
        std::abort();
    }
    if (workload.length_q(0) > 0) {
        const auto range = workload.visible(0, workload.length_q(0) - 1);
        if (range.first < 0 || range.last > workload.length_k(0)) {
            std::abort();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        exercise(raceline::parse_shape(text));
    } catch (const raceline::Error&) {
    }
    try {
        (void)raceline::make_suite(text);
    } catch (const raceline::Error&) {
    }
    const auto json = raceline::Json::parse(text, nullptr, false);
    if (!json.is_discarded()) {
        try {
            exercise(raceline::workload_from_json(json));
        } catch (const raceline::Error&) {
        }
    }
    return 0;
}
