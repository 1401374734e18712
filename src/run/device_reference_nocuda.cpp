// SPDX-License-Identifier: Apache-2.0
// A build without CUDA has no backend that could come here.
#include "run/device_reference.hpp"
#include "support/check.hpp"

namespace raceline::device_gate {
namespace {
[[noreturn]] void refuse() {
    fail(Status::no_device, "the gate on a GPU needs a build with CUDA");
}
}  // namespace

void gather(const DrawnCall&, const Operands&, Rounding, std::int64_t) {
    refuse();
}
bool serves(const Precision&) {
    return false;
}
void answer_exactly(const DrawnCall&, const Answers&) {
    refuse();
}
void answer_rounded(const DrawnCall&, const Steps&, const Answers&) {
    refuse();
}
void compare(const DrawnCall&, const Answers&, const Outputs&, float*, std::int64_t, Found*) {
    refuse();
}
void compare_finite(const DrawnCall&, const Answers&, const Outputs&, const BadValue*, int,
                    std::int64_t, Found*) {
    refuse();
}
void count_different(const void*, const void*, std::int64_t, std::uint64_t*) {
    refuse();
}

}  // namespace raceline::device_gate
