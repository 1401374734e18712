// SPDX-License-Identifier: Apache-2.0
#include "api/call.hpp"
#include "support/check.hpp"

namespace raceline::api {

void read_device_memory(void*, const void*, std::size_t, void*) {
    fail(Status::no_device, "place is cuda, but this raceline was built without CUDA");
}

}  // namespace raceline::api
