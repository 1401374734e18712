// SPDX-License-Identifier: Apache-2.0
// More memory was asked for than there is: no fault of a kernel, and no failure of the gate.
#pragma once

#include <string>

#include "raceline/error.hpp"

namespace raceline {

class OutOfMemory : public Error {
public:
    explicit OutOfMemory(const std::string& sentence) : Error(Status::unsupported, sentence) {}
};

}  // namespace raceline
