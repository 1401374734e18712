// SPDX-License-Identifier: Apache-2.0
#include "report/rate_text.hpp"

#include "device/device.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

std::string_view amount_unit(std::string_view resource) {
    return resource.starts_with("byte.") ? "B" : resource.starts_with("op.") ? "op" : "FLOP";
}

}  // namespace

std::string rate_text(std::string_view resource, double value) {
    return is_time_id(resource)   ? format_seconds(value)
           : is_size_id(resource) ? format_si(value, "B")
                                  : format_si(value, std::string(amount_unit(resource)) + "/s");
}

std::string energy_text(std::string_view resource, double joules) {
    return format_si(joules, "J/" + std::string(amount_unit(resource)));
}

}  // namespace raceline
