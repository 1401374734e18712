// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace raceline::cli {

/// The newest file where `bench` puts receipts by default. Throws Error(invalid_argument) where
/// there is none.
std::string newest_receipt();

}  // namespace raceline::cli
