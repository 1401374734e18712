// SPDX-License-Identifier: Apache-2.0
// The roofs of a device: its ceilings as far as they bound a chart.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"
#include "report/timed_rows.hpp"

namespace raceline {

struct Roof {
    std::string name, resource;
    double rate = 0;       ///< flop/s, or byte/s of a level of memory
    bool measured = true;  ///< false: of a datasheet
};

struct Roofs {
    std::string device;
    std::vector<Roof> memory, engines;  ///< the fastest last
    /// Sets of measured ceilings that the device's rows rest on; of more than one none is drawn,
    /// since the rows do not say whether it is one machine.
    std::size_t sets = 0;
    /// Whether its predictions rest on ceilings that no row states, while rows state those of other
    /// machines of its name.
    bool unstated = false;
};

/// Ceilings that the rows hold of `device` (its label there), else those that all its predictions
/// rest on where a row says them, else the committed ones, else the datasheet's; none of a CPU or
/// GPU that the id alone does not name.
Roofs roofs_of(const std::string& device, const DeviceName& name, const TimedRows& rows);

/// Those of a device with its rates as they are: of measured ones no others.
Roofs roofs_of(const Device& device);

/// A sentence on what a chart lacks of a device, empty if its roofs were all measured.
std::string missing_roofs(const Roofs& roofs);

}  // namespace raceline
