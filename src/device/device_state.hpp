// SPDX-License-Identifier: Apache-2.0
// A device with all that the model reads of it, as a member of a receipt's `device` row: with it a
// prediction can be computed again from the file alone, on any machine.
#pragma once

#include <optional>

#include "device/device.hpp"
#include "support/json.hpp"

namespace raceline {

Json device_state_to_json(const Device& device);
/// Throws Error(corrupt) naming the first member that is missing or of a wrong type.
Device device_state_from_json(const Json& state);

/// What lists of devices say of one beside its name: sizes, and rates with their sources.
Json listed_members(const Device& device);

/// The content of a `device` row {device, state}; nothing if the tree has all of it: the device is
/// in devices/, and its rates are the committed ones or the datasheet's.
std::optional<Json> uncommitted_state(const Device& device);

}  // namespace raceline
