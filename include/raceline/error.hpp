// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace raceline {

/// The kinds of failure that a caller can act on. The C ABI returns the same numbers.
enum class Status : int {
    ok = 0,
    invalid_argument = 1,  ///< the call or the command line is wrong; nothing was written
    unsupported = 2,       ///< a valid request that no kernel here serves
    no_device = 3,         ///< the named device is not live, or unknown
    io = 4,                ///< a file could not be read or written
    corrupt = 5,           ///< a file was read and its content is broken
    internal = 6,          ///< a bug in raceline, or a failing driver
};

/// Every error the library reports. `what()` is a sentence that names the argument, its value and
/// what would have been accepted.
class Error : public std::runtime_error {
public:
    Error(Status status, const std::string& sentence)
        : std::runtime_error(sentence), status_(status) {}
    [[nodiscard]] Status status() const noexcept { return status_; }

private:
    Status status_;
};

}  // namespace raceline
