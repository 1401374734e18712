// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace raceline::cli {

/// The files where `bench` puts receipts by default. Throws Error(invalid_argument) where there is
/// none.
std::vector<std::string> receipts_newest_first();
/// The newest file where `bench` puts receipts by default. Throws Error(invalid_argument) where
/// there is none.
std::string newest_receipt();

}  // namespace raceline::cli
