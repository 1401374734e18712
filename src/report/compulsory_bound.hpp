// SPDX-License-Identifier: Apache-2.0
// The least time that a problem can take on a device, whatever kernel or library solves it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "device/device.hpp"
#include "receipt/rows.hpp"

namespace raceline {

/// Compulsory bytes (Q, K and V read once, the output written once) over the measured DRAM
/// ceilings, and operations of the visible pairs over the fastest matrix engine that may multiply
/// such inputs. Ceilings are the committed ones of the device; those that the file itself holds
/// where they differ by less than a tenth, or where none of that device are committed. A
/// datasheet's figure is no measurement and bounds nothing.
class CompulsoryBound {
public:
    /// A ceiling of the file; rows of library products, caches and memory are none.
    void take(const CeilingRow& row);

    struct Least {
        double seconds = 0;
        std::string resource;   ///< "the compulsory bytes", "the operations"
        double operations = 0;  ///< seconds of these alone, to which a warm call is held, too
    };
    /// Nothing if no ceiling of that device is measured.
    [[nodiscard]] std::optional<Least> of(const RowCase& about);

    /// Sentences about what was asked and taken so far: ceilings of the file that are not used, and
    /// devices whose cold times are held to none.
    [[nodiscard]] const std::set<std::string>& remarks() const { return remarks_; }

private:
    struct Ceilings {
        Device committed, used;  ///< measured rates only
    };
    Ceilings& ceilings_of(const DeviceName& name);
    std::map<std::string, Ceilings> known_;  ///< by device
    std::set<std::string> remarks_;
};

}  // namespace raceline
