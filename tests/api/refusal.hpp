// SPDX-License-Identifier: Apache-2.0
// A call that must be refused: with which status and sentence, and with its output untouched.
#pragma once

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "tests/api/workload_call.hpp"

namespace raceline::tests {

inline constexpr auto most = std::numeric_limits<std::int64_t>::max();

// What a refused call threw: its status, and a sentence that must hold `said`.
template <class Args>
void expect_refused(WorkloadCall& call, const Args& args, const Execution& execution, Status status,
                    const std::string& said) {
    try {
        if constexpr (std::is_same_v<Args, ForwardArgs>) {
            forward(args, execution);
        } else {
            decode(args, execution);
        }
        ADD_FAILURE() << "the call ran; it should say: " << said;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        EXPECT_THAT(error.what(), testing::HasSubstr(said));
    }
    EXPECT_TRUE(call.out.untouched()) << said;
    EXPECT_TRUE(call.lse.untouched()) << said;
}

// Plenty of aligned workspace, so that nothing but the fault under test is wrong.
inline const Execution& ample() {
    static const Workspace workspace(std::size_t{1} << 24);
    return workspace.execution;
}

/// One thing wrong with an otherwise good call.
template <class Args>
struct Fault {
    const char* name;
    std::function<void(WorkloadCall&, Args&)> plant;
    const char* said;
    Status status = Status::invalid_argument;
};
using ForwardFault = Fault<ForwardArgs>;
using DecodeFault = Fault<DecodeArgs>;

/// Names a fault where a test prints its parameter.
template <class Args>
void PrintTo(const Fault<Args>& fault, std::ostream* out) {
    *out << fault.name;
}

template <class Info>
std::string name_of_fault(const Info& info) {
    return info.param.name;
}

}  // namespace raceline::tests
