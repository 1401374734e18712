// SPDX-License-Identifier: Apache-2.0
// The model as a question and its answer, both in JSON: what the page asks, in the browser, of the
// same code that predicts here.
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// `question` is one object:
///   shape    as in `--shape` (workload/shape_grammar.hpp)
///   device   all that the model reads of one (device_state_to_json), its ceilings as they are
///            assumed to be
///   kernel   a name, or "" for all engines and rungs
///   cold, launch_path, threads  of the call; a member that is missing has LaunchCase's default
/// The answer is {"shape", "workload", "flops", "bound", "call", "kernels"}: the shape in its
/// canonical text and, as receipts have it, by field. `call` names the kernel that a call of the
/// API would run on such a device, by api::engine_of_call as `raceline predict` has it; null where
/// no engine serves the shape or the question names a kernel. `bound` is what no kernel can beat:
/// {seconds, limiter, memory_seconds, compute_seconds, launch_seconds, engine, rates,
/// arithmetic_intensity, ridge}. `kernels` has the kernels that serve the shape: that of a call in
/// the tile of a call, then the other engines and then the rungs of the ladder, the fastest first,
/// each in its best tile: {kernel, tile, limiter, seconds, bound_seconds, arithmetic_intensity,
/// terms: [[name, seconds]], resources: {id: seconds}, rates: {id: where its rate comes from}};
/// then the others: {kernel, reason}. Times are the model's own, in seconds; one that is not finite
/// is null. `rates` are in the words of origin_text (device/rate_origin.hpp). What cannot be
/// answered gives {"error": a sentence}; nothing is thrown.
std::string what_if(std::string_view question);

}  // namespace raceline
