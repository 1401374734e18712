// SPDX-License-Identifier: Apache-2.0
// A launch of Adam, as its kernels read it from the arguments.
#pragma once

#include <cmath>
#include <cstddef>

#include "workload/operation_args.hpp"

namespace raceline {

/// Tensors, as operations/adam lists them. The last one has no rows where there is no master copy.
enum AdamTensor : std::size_t {
    adam_parameter,
    adam_gradient,
    adam_first,
    adam_second,
    adam_new_parameter,
    adam_new_first,
    adam_new_second,
    adam_new_master
};

/// The constants of a step, as its elements use them: m' = beta1 m + new1 g, v' = beta2 v + new2
/// g², p' = keep p - rate m' / (unbias sqrt(v') + eps).
struct AdamStep {
    float beta1, beta2, new1, new2;  ///< new: one less the beta
    float rate;                      ///< with the first moment's bias taken out
    float unbias;                    ///< of the root of the second moment
    float eps, keep;                 ///< keep: what decay leaves of a parameter
};

inline AdamStep adam_step_of(const OperationArgs& args) {
    const double lr = args.scalars[0];
    const double beta1 = args.scalars[1];
    const double beta2 = args.scalars[2];
    const auto steps = static_cast<double>(args.extents[2]);
    const auto number = [](double x) { return static_cast<float>(x); };
    return {number(beta1),
            number(beta2),
            number(1 - beta1),
            number(1 - beta2),
            number(lr / (1 - std::pow(beta1, steps))),
            number(1 / std::sqrt(1 - std::pow(beta2, steps))),
            number(args.scalars[3]),
            number(1 - lr * args.scalars[4])};
}

}  // namespace raceline
