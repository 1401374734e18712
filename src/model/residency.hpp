// SPDX-License-Identifier: Apache-2.0
// What the last-level cache keeps between two passes over the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline {

/// Share of a repeated pass that is served by a cache: 1 up to its capacity, falling linearly to 0
/// at twice the capacity, 0 without a cache. Of the two classic policies for cyclic passes,
/// random replacement (h = exp(-(1 - h) footprint / capacity): 0.42 at 1.5 times the capacity, 0.20
/// at 2) is followed within 0.13 up to 1.5 times; least-recently-used, 0 at once, is met at 2.
double hit_fraction(double footprint, double capacity);

/// The same on a device. A GPU's L2 keeps everything up to its size and then soon nothing. Where it
/// is in two halves, what SMs of both read again has a copy in each of them, so that one half's
/// size counts; what each SM reads for itself is in its own half alone and has the whole of it.
double hits_of(const Device& device, double footprint, bool by_same_unit);

/// Capacity of the last-level cache in bytes, and the resource id of its traffic.
std::int64_t last_cache_bytes(const Device& device);
std::string_view last_cache_id(const Device& device);

/// Bytes that all launches of a call touch in DRAM, first passes only: what must stay in the cache
/// for the next, warm call.
double call_footprint(std::span<const Counts> launches);

/// Bytes of re-reads that the cache serves, and those that go to DRAM.
struct RereadSplit {
    double cache = 0;
    double dram = 0;
};

/// Of so many bytes of a GPU's memory those that are at home in the other half of the L2 than the
/// one that an SM asks.
double at_home_elsewhere(double bytes);

RereadSplit split_rereads(const Device& device, std::span<const Reread> rereads);

/// Bytes that pass the link between the halves of a GPU's L2 beyond what comes from and goes to
/// DRAM: copies of what both halves read again.
double copied_between_halves(const Device& device, std::span<const Reread> rereads);

}  // namespace raceline
