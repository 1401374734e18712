// SPDX-License-Identifier: Apache-2.0
// What the launches of simt's two records share, on the host.
#pragma once

#include "kernels/simt/instances.hpp"
#include "kernels/simt/plan.hpp"

namespace raceline::kernels::simt {

/// Throws Error(unsupported) for a head dim of V that no code is compiled for.
Params make_params(const AttentionArgs& args, const Plan& plan, void* workspace);
/// The second launch, of a call whose keys are split; nothing for others.
void launch_merge(const Params& params, void* stream);

}  // namespace raceline::kernels::simt
