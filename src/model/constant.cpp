// SPDX-License-Identifier: Apache-2.0
#include "model/constant.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "support/sha256.hpp"

namespace raceline {
namespace {

thread_local ConstantWatch* current_watch = nullptr;

}  // namespace

std::string_view origin_name(Origin origin) {
    switch (origin) {
        case Origin::probe: return "probe";
        case Origin::manual: return "manual";
        case Origin::code: return "code";
        case Origin::assumed: return "assumed";
        case Origin::calibrated: return "calibrated";
    }
    return "";
}

Constant::operator double() const {
    return current_watch == nullptr ? value : current_watch->value_of(*this);
}

ConstantWatch::ConstantWatch(Calibrated calibrated)
    : calibrated_(calibrated), outer_(current_watch) {
    current_watch = this;
}

ConstantWatch::~ConstantWatch() {
    current_watch = outer_;
}

double ConstantWatch::value_of(const Constant& constant) {
    const auto known = std::ranges::find(used_, constant.name, &Constant::name);
    if (known == used_.end()) {
        used_.push_back(constant);
    }
    const bool replaced =
        calibrated_ == Calibrated::stand_in && constant.origin == Origin::calibrated;
    return replaced ? constant.stand_in : constant.value;
}

CalibratedSet calibrated_set(const std::vector<Constant>& used) {
    std::vector<std::string> lines;
    for (const Constant& constant : used) {
        if (constant.origin == Origin::calibrated) {
            lines.push_back(fmt::format("{}={:.17g}\n", constant.name, constant.value));
        }
    }
    if (lines.empty()) {
        return {};
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) {
        text += line;
    }
    return {static_cast<int>(lines.size()), sha256_hex(text)};
}

}  // namespace raceline
