// SPDX-License-Identifier: Apache-2.0
// Where a rate comes from, and what stands beside one that was not measured.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "support/build_info.hpp"

namespace raceline {

/// In the order of trust. Written at the start of Rate::source.
enum class RateOrigin {
    here,       ///< measured on this very machine: the user's cache
    file,       ///< a file of ceilings that the user named
    committed,  ///< measured on a device of this kind, in receipts/<id>/ceilings.jsonl
    scaled,     ///< a datasheet's, times what another device was measured to reach of its own
    datasheet
};

/// "measured here", "rates file", "committed", "datasheet x 0.88 of h200", "datasheet"; of products
/// whose clock the watts hold down, "datasheet x 0.96 of h200 at 1.04 GHz in 72 W".
std::string origin_text(const Rate& rate);
RateOrigin origin_of(const Rate& rate);
/// What `origin` puts before the description of how it was measured.
std::string_view source_prefix(RateOrigin origin);
bool is_measured(const Rate& rate);

/// A rate that was scaled keeps what the datasheet says beside it, as "<id>.datasheet": bounds go
/// by that. Of a board that runs above its stated clock it is what that clock would give.
inline constexpr std::string_view unscaled_suffix = ".datasheet";

/// A GPU of which nothing is measured gets, for each resource, its datasheet's rate times the
/// quotient of measured and stated rate of the nearest generation that has committed ceilings (by
/// compute capability), and says so in the source. The device's fastest matrix engine takes the
/// quotient of that device's fastest one in the same type, any other resource that of the same id;
/// what was not measured there stays as stated, and times (floors, latencies) are carried over
/// within a generation alone.
void scale_to_measured(Device& device, std::span<const build_info::EmbeddedFile> embedded);
/// A GPU whose latencies are known only of one thread on an idle chip gets "latency.….loaded" too:
/// its own, times how much longer a load takes a CTA among others on the nearest device that has
/// committed both.
void complete_latencies(Device& device, std::span<const build_info::EmbeddedFile> embedded);

}  // namespace raceline
