// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline {

/// What this machine says of itself goes before the datasheet; 0 is how it says that it does not
/// know.
template <class T>
void take_known(T& into, T value) {
    if (value > 0) {
        into = value;
    }
}

}  // namespace raceline
