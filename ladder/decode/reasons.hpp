// SPDX-License-Identifier: Apache-2.0
// Why a decode rung does not take a call. Each is a clause, empty if nothing stands against it.
#pragma once

#include <string>
#include <string_view>

#include "ladder/decode/plan.hpp"
#include "ladder/tracks/record.hpp"

namespace raceline::kernels::decode {

using tracks::first_of;

std::string not_a_gpu(const Device& device);
/// Unless the types are `taken`: "it reads WHAT, not …".
std::string other_types(const Workload& w, bool taken, std::string_view what);
std::string all_floats(const Workload& w);  ///< fp32 or fp16
std::string all_halves(const Workload& w);  ///< fp16
std::string other_head_dims(const Workload& w);
/// Lengths of their own without pages, and pages of other than a power of two tokens.
std::string other_lengths(const Workload& w);
/// More than one query token, and scores that are not only scaled.
std::string other_scores(const Workload& w);
/// What stands against calls with head dims 64 and 128 and lengths of their own; `types` as above.
std::string other_calls(const Workload& w, const Device& device, const std::string& types);
/// "WHO takes N bytes of shared memory; …"
std::string no_room(const Plan& plan, const Device& device, std::string_view who);
std::string too_wide(const Workload& w);                         ///< a group
std::string too_many_keys(const Workload& w);                    ///< for 31 bits
std::string too_many_ctas(const Workload& w, const Plan& plan);  ///< for a grid's y and z

}  // namespace raceline::kernels::decode
