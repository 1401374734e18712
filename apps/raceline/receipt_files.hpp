// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace raceline::cli {

/// The files where `bench` puts receipts by default. Throws Error(invalid_argument) where there is
/// none.
std::vector<std::string> receipts_newest_first();
/// The newest of them that has a measurement, which a run has not that was killed in its first
/// case; where none has, the newest. Throws Error(invalid_argument) where there is none.
struct NewestReceipt {
    std::string file;
    bool others_are_newer = false;
    /// "FILE", and why it is not the newest of all where that is so.
    [[nodiscard]] std::string text() const;
};
NewestReceipt newest_receipt();

}  // namespace raceline::cli
