// SPDX-License-Identifier: Apache-2.0
// The least time that a problem can take on a device, whatever kernel or library solves it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "device/device.hpp"
#include "receipt/rows.hpp"

namespace raceline {

/// Compulsory bytes (Q, K and V read once, the output written once) over the measured DRAM
/// ceilings, and operations of the visible pairs over the fastest matrix engine that may multiply
/// such inputs. Ceilings are those that the file itself holds for the device, else the committed
/// ones; a datasheet's figure is no measurement and bounds nothing.
class CompulsoryBound {
public:
    /// A ceiling of the file; rows of library products, caches and memory are none.
    void take(const CeilingRow& row);

    struct Least {
        double seconds = 0;
        std::string resource;  ///< "the compulsory bytes", "the operations"
    };
    /// Nothing if no ceiling of that device is measured.
    [[nodiscard]] std::optional<Least> of(const RowCase& about);

private:
    const Device& rates_of(const DeviceName& name);
    std::map<std::string, Device> of_file_, committed_;  ///< by device; measured rates only
};

}  // namespace raceline
