// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: grids run one after the other here.
#pragma once

namespace raceline::ptx {

inline void griddepcontrol_wait() {}
inline void griddepcontrol_launch_dependents() {}

}  // namespace raceline::ptx
