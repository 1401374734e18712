// SPDX-License-Identifier: Apache-2.0
// The gate's verdict on a call that ran on the CPU.
#pragma once

#include <gtest/gtest.h>

#include "api/engine_choice.hpp"
#include "tests/api/workload_call.hpp"

namespace raceline::tests {

inline Precision precision_of(const WorkloadCall& call) {
    return api::remembered_engine(call.workload, Place::cpu, 0, "")
        .kernel->precision(call.workload);
}

inline void expect_right(const WorkloadCall& call) {
    const Correctness verdict = call.verdict(precision_of(call));
    EXPECT_TRUE(verdict.passed) << format_shape(call.workload) << ": " << verdict.why;
    EXPECT_GT(verdict.cases, 0);
    EXPECT_TRUE(call.out.guards_hold());
    EXPECT_TRUE(call.lse.guards_hold());
}

}  // namespace raceline::tests
