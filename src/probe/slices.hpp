// SPDX-License-Identifier: Apache-2.0
// The memory that bandwidth probes run over, and the loops that read it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "device/device.hpp"
#include "probe/sizes.hpp"
#include "probe/team.hpp"
#include "probe/vector.hpp"

namespace raceline::probe {

// Far more than any cache keeps, also where a virtual machine states a share of a larger one.
inline std::size_t dram_footprint(const Device& device) {
    const std::size_t wanted =
        std::max(std::size_t{1024} * mebibyte, 32 * static_cast<std::size_t>(device.llc_bytes));
    const auto memory = static_cast<std::size_t>(device.memory_bytes);
    return memory == 0 ? wanted : std::min(wanted, memory / 4);
}

// A thread's own part of a footprint. Whole grains, and at least one.
inline std::size_t slice_bytes(std::size_t footprint, int threads) {
    const std::size_t slice = footprint / static_cast<std::size_t>(threads);
    return std::max(slice / memory_grain, std::size_t{1}) * memory_grain;
}

// The loops read 2 KiB ahead at most; a spare page keeps that inside the mapping.
class Slices {
public:
    Slices(std::size_t footprint, int threads)
        : bytes_(slice_bytes(footprint, threads)),
          pages_(bytes_ * static_cast<std::size_t>(threads) + memory_grain) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int thread = 0; thread < threads; ++thread) {
            std::memset(at(thread), thread + 1, bytes_);
        }
    }
    [[nodiscard]] std::byte* at(int thread) const {
        return pages_.data() + bytes_ * static_cast<std::size_t>(thread);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::size_t bytes_;
    Pages pages_;
};

inline std::array<VectorLoops::Read, 3> read_loops(const VectorLoops& loops) {
    return {loops.read_linear, loops.read_four_streams, loops.read_prefetched};
}

}  // namespace raceline::probe
