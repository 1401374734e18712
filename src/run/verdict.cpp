// SPDX-License-Identifier: Apache-2.0
#include "run/gate.hpp"

namespace raceline {

Correctness worse_of(const Correctness& a, const Correctness& b) {
    // A failure outranks any pass; among equals the one that uses more of its bound is reported,
    // whole, so that error and bound in a row belong together.
    const auto share = [](const Correctness& c) {
        return c.bound > 0 ? c.relative_rms / c.bound : 0;
    };
    const bool take_b = a.passed != b.passed ? a.passed : share(b) > share(a);
    Correctness worse = take_b ? b : a;
    worse.cases = a.cases + b.cases;
    return worse;
}

}  // namespace raceline
