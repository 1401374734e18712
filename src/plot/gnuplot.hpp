// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace raceline {

/// What gnuplot draws by a script: the bytes of a picture, or text for a terminal. Throws
/// Error(unsupported) that says how to get gnuplot where there is none, Error(internal) where it
/// refuses the script.
std::string drawn_by_gnuplot(const std::string& script);

/// Whether a gnuplot is found in PATH.
bool gnuplot_is_there();

}  // namespace raceline
