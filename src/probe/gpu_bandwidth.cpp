// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>

#include "probe/gpu_steps.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline::probe {
namespace {

// So much that what the L2 keeps from one pass to the next is under a hundredth.
std::size_t dram_footprint(const GpuTimer& timer) {
    const std::size_t wanted = (timer.quick() ? 1024 : 8192) * mebibyte;
    const std::size_t bytes = std::min(wanted, cuda::free_bytes() / 2) / mebibyte * mebibyte;
    require(bytes >= 256 * mebibyte, Status::internal,
            "the DRAM probe needs 512 MiB of free device memory, {} MiB are free",
            cuda::free_bytes() / mebibyte);
    return bytes;
}

std::string words(const GpuGrid& grid, const Device& device, const char* how) {
    return fmt::format("{}, {} an SM of {} threads, {} vectors of 16 bytes a thread", how,
                       counted_text(grid.ctas / device.units, "CTA"), grid.threads, grid.unroll);
}

// Grids with about the same bytes in flight, spread differently over CTAs, threads and unroll.
std::vector<GpuGrid> streaming_grids(const GpuSetting& with) {
    const int sms = with.device.units;
    std::vector<GpuGrid> grids{{4 * sms, 512, 4}, {2 * sms, 512, 8}, {1 * sms, 512, 16}};
    if (!with.timer.quick()) {
        grids.insert(grids.end(), {{8 * sms, 256, 4},
                                   {4 * sms, 256, 8},
                                   {2 * sms, 256, 16},
                                   {32 * sms, 256, 4},
                                   {64 * sms, 256, 8}});
    }
    return grids;
}

struct BulkShape {
    int chunk, stages;
};

GpuPass best_read(GpuSetting& with, const std::byte* from, std::size_t bytes) {
    GpuPass best;
    for (const GpuGrid& grid : streaming_grids(with)) {
        best = better(best, with.timer.best(
                                [&](GpuSpan* span, void* stream) {
                                    return with.kernels.read(grid, from, bytes, span, stream);
                                },
                                words(grid, with.device, "loads past L1")));
    }
    if (with.device.compute_capability != 90) {
        return best;
    }
    for (const BulkShape shape : {BulkShape{8192, 24}, {16384, 12}, {32768, 6}, {4096, 24}}) {
        best = better(best, with.timer.best(
                                [&](GpuSpan* span, void* stream) {
                                    return with.kernels.read_bulk(with.device.units, shape.chunk,
                                                                  shape.stages, from, bytes, span,
                                                                  stream);
                                },
                                fmt::format("bulk copies of {} bytes, {} in flight an SM",
                                            shape.chunk, shape.stages)));
    }
    return best;
}

// `best`, or a better one of both policies of stores and all grids.
template <class Run>
GpuPass best_stores(GpuSetting& with, GpuPass best, const Run& run) {
    for (const auto policy : {StorePolicy::regular, StorePolicy::streaming}) {
        for (const GpuGrid& grid : streaming_grids(with)) {
            best = better(
                best,
                with.timer.best(
                    [&](GpuSpan* span, void* stream) { return run(grid, policy, span, stream); },
                    words(grid, with.device,
                          policy == StorePolicy::regular ? "stores" : "streaming stores")));
        }
    }
    return best;
}

GpuPass best_write(GpuSetting& with, std::byte* to, std::size_t bytes) {
    GpuPass best = with.timer.best(
        [&](GpuSpan*, void* stream) { return with.kernels.write_driver(to, bytes, stream); },
        "the driver's fill");
    best = best_stores(with, best, [&](const GpuGrid& grid, StorePolicy policy, auto... at) {
        return with.kernels.write(grid, policy, to, bytes, at...);
    });
    return best;
}

GpuPass best_copy(GpuSetting& with, std::byte* to, const std::byte* from, std::size_t bytes) {
    GpuPass best = with.timer.best(
        [&](GpuSpan*, void* stream) { return with.kernels.copy_driver(to, from, bytes, stream); },
        "the driver's copy");
    best = best_stores(with, best, [&](const GpuGrid& grid, StorePolicy policy, auto... at) {
        return with.kernels.copy(grid, policy, to, from, bytes, at...);
    });
    if (with.device.compute_capability != 90) {
        return best;
    }
    for (const int chunk : {8192, 16384, 24576}) {
        best = better(best, with.timer.best(
                                [&](GpuSpan* span, void* stream) {
                                    return with.kernels.copy_bulk(with.device.units, chunk, to,
                                                                  from, bytes, span, stream);
                                },
                                fmt::format("bulk copies of {} bytes, 4 in and 4 out in flight an "
                                            "SM",
                                            chunk)));
    }
    return best;
}

void probe_dram(GpuSetting& with, std::vector<Ceiling>& out) {
    const std::size_t bytes = dram_footprint(with.timer);
    const cuda::DeviceBuffer buffer(bytes);
    // Real values: constant bytes would be compressed on the way by some chips.
    cuda::fill_normal(buffer.data(), DType::bf16, bytes / 2, 1);
    cuda::synchronize();
    const std::size_t half = bytes / 2;
    const auto add = [&](const char* id, const GpuPass& pass, const char* how) {
        out.push_back(
            gpu_ceiling(id, "byte/s", pass, with.device,
                        fmt::format("{} of {} MiB, shortest launch", how, bytes / mebibyte)));
    };
    add("byte.dram_read", best_read(with, buffer.data(), bytes), "read");
    // One CTA as large as the others: what an SM draws when it is alone.
    const GpuGrid alone{1, 512, 16};
    add("byte.dram_read.unit",
        with.timer.best(
            [&](GpuSpan* span, void* stream) {
                return with.kernels.read(alone, buffer.data(), bytes / 64, span, stream);
            },
            "one CTA on one SM, 512 threads, 16 vectors of 16 bytes a thread"),
        "read of a 64th");
    add("byte.dram_copy", best_copy(with, buffer.data() + half, buffer.data(), half),
        "copy within, bytes read and written,");
    add("byte.dram_write", best_write(with, buffer.data(), bytes), "write");
}

// Footprints from a quarter to three quarters of the L2, whatever of a slice L1 could hold being
// passed by; of more than half, the far partition may no longer keep copies.
void probe_l2(GpuSetting& with, std::vector<Ceiling>& out) {
    const std::size_t l2 = with.device.l2_bytes > 0 ? static_cast<std::size_t>(with.device.l2_bytes)
                                                    : cuda::l2_bytes();
    const cuda::DeviceBuffer buffer(l2);
    cuda::fill_normal(buffer.data(), DType::bf16, l2 / 2, 2);
    cuda::synchronize();
    const int sms = with.device.units;
    GpuPass best;
    for (const std::size_t quarters : {1, 2, 3}) {
        const std::size_t bytes = l2 * quarters / 4 / mebibyte * mebibyte;
        for (const GpuGrid& grid :
             {GpuGrid{3 * sms, 512, 4}, {2 * sms, 512, 8}, {sms, 512, 16}, {2 * sms, 256, 4}}) {
            const auto loads = static_cast<std::size_t>(grid.threads) * grid.unroll;
            if (bytes / grid.ctas < loads * 16) {
                continue;  // a CTA's slice would hold no whole tile
            }
            best = better(best, with.timer.best_loop(
                                    [&](int rounds, GpuSpan* span, void* stream) {
                                        return with.kernels.reread(grid, buffer.data(), bytes,
                                                                   rounds, span, stream);
                                    },
                                    0.001,
                                    words(grid, with.device,
                                          fmt::format("{} MiB", bytes / mebibyte).c_str())));
        }
    }
    out.push_back(gpu_ceiling("byte.l2", "byte/s", best, with.device,
                              "footprints from a quarter to three quarters of the L2, each CTA "
                              "its own slice again and again, past L1"));
    const std::size_t bytes = l2 / 8 / mebibyte * mebibyte + mebibyte;
    const GpuPass alone = with.timer.best_loop(
        [&](int rounds, GpuSpan* span, void* stream) {
            return with.kernels.reread({1, 512, 16}, buffer.data(), bytes, rounds, span, stream);
        },
        0.001, "one CTA on one SM, 512 threads, 16 vectors of 16 bytes a thread");
    out.push_back(gpu_ceiling("byte.l2.unit", "byte/s", alone, with.device,
                              fmt::format("{} MiB read again and again", bytes / mebibyte)));
}

void probe_shared(GpuSetting& with, std::vector<Ceiling>& out) {
    GpuPass best;
    for (const GpuGrid& grid : {GpuGrid{with.device.units, 512, 16},
                                {2 * with.device.units, 512, 16},
                                {with.device.units, 1024, 16}}) {
        best = better(best, with.timer.best_loop(
                                [&](int rounds, GpuSpan* span, void* stream) {
                                    return with.kernels.shared(grid, rounds, span, stream);
                                },
                                0.002, words(grid, with.device, "no bank conflicts")));
    }
    out.push_back(gpu_ceiling("byte.smem_lsu", "byte/s", best, with.device,
                              "loads of 16 bytes from shared memory by ordinary instructions"));
}

}  // namespace

void append_gpu_memory_steps(const Device& /*device*/, std::vector<GpuStep>& steps) {
    steps.push_back({"DRAM bandwidth", probe_dram});
    steps.push_back({"L2 by footprint sweep", probe_l2});
    steps.push_back({"shared memory", probe_shared});
}

}  // namespace raceline::probe
