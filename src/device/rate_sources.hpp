// SPDX-License-Identifier: Apache-2.0
// Which rates a device goes by: a given file, this machine's cache, committed, datasheet. The
// functions of catalog.hpp, with the compiled-in files as an argument.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "device/device.hpp"
#include "support/build_info.hpp"

namespace raceline {

/// Committed ceilings of this very device alone; false: there are none.
bool lay_over_committed_rates(Device& device, std::span<const build_info::EmbeddedFile> embedded);

void apply_committed_rates(Device& device, std::span<const build_info::EmbeddedFile> embedded);
void apply_rates(Device& device, const std::optional<std::string>& rates_file,
                 std::span<const build_info::EmbeddedFile> embedded);

}  // namespace raceline
