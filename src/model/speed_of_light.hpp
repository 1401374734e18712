// SPDX-License-Identifier: Apache-2.0
// The roofline of a problem, above all kernels: no program that gives the right answer is faster.
#pragma once

#include "device/device.hpp"
#include "receipt/values.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// What a problem must move and compute.
struct ProblemWork {
    double bytes_read = 0, bytes_written = 0, flops = 0;
    bool matrix_products = false;  ///< else ordinary lanes compute it, in fp32
    DType dtype = DType::fp32;     ///< of the products' operands
    DType other_dtype = DType::fp32;
};
ProblemWork work_of(const Workload& workload);

/// The largest of: the problem's compulsory bytes at the DRAM ceilings, its operations on the
/// fastest engine of the device that multiplies its types without rounding them, and the floor of
/// one launch on this path. Rates are the highest known ones: of a matrix engine the burst, of a
/// scaled datasheet rate the datasheet's own. A warm call may find as many bytes in the last-level
/// cache as it holds. Exponentials are not in it: several engines can make them, side by side with
/// products. Terms of a rate that the device does not have are 0.
SpeedOfLight speed_of_light(const Device& device, const ProblemWork& work, const LaunchCase& how);
SpeedOfLight speed_of_light(const Device& device, const Workload& workload, const LaunchCase& how);

/// What of it a problem's sizes do not change: for whoever asks about many sizes. The device must
/// outlive it.
struct BoundRates {
    std::string engine;  ///< "": the device has none for these types
    const Rate* of_engine = nullptr;
    double flops_per_second = 0;  ///< of the problem's own operations
    const Rate* read = nullptr;   ///< null: not known
    const Rate* write = nullptr;  ///< the read rate where none is known
    const Rate* copy = nullptr;   ///< null: not known, or read and written bytes add up
    std::string_view floor;       ///< id of one launch's
    double floor_seconds = 0;
    double cache_bytes = 0;  ///< that a warm call may find its data in
};
/// Of `work` the types and what its operations are.
BoundRates bound_rates(const Device& device, const ProblemWork& work, const LaunchCase& how);
SpeedOfLight speed_of_light(const Device& device, const BoundRates& rates, const ProblemWork& work);
/// Its `seconds` alone.
double bound_seconds(const BoundRates& rates, const ProblemWork& work);

}  // namespace raceline
