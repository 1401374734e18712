// SPDX-License-Identifier: Apache-2.0
// The kernels of the GPU probes, as host code sees them. Plain types: the device files that fill
// the table reach neither formatting nor JSON, and a build without CUDA has none to fill it with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raceline::probe {

/// What a kernel's first CTA saw of its own run: the mean SM clock is cycles / time.
struct GpuSpan {
    std::uint64_t cycles = 0;
    std::uint64_t nanoseconds = 0;
};

struct GpuGrid {
    int ctas = 1;
    int threads = 256;
    int unroll = 4;  ///< vectors a thread has in flight (4, 8 or 16)
};

enum class MatrixType { bf16, fp16, e4m3, tf32 };
enum class StorePolicy { regular, streaming };

/// Blocks of the granularity at which a chip whose L2 is in two halves deals its lines out to them,
/// and what the SMs are told to read of them.
constexpr std::size_t home_block_bytes = 4096;
struct ListedBlocks {
    const std::uint32_t* blocks[2];  ///< numbers of blocks, a list for the SMs of each side
    std::uint32_t counts[2];
    const std::uint8_t* sides;  ///< of each SM: 0 or 1
    std::uint32_t units;        ///< length of `sides`; an SM beyond it reads nothing
    std::uint32_t* taken;       ///< two words for the launch's own use
};

/// Every function enqueues on `stream` (a cudaStream_t), never waits, and returns the work that it
/// enqueued: bytes moved, flops, operations. `span` is device memory for one GpuSpan; functions
/// without it read no clock. Buffers are device memory, aligned to 256 bytes.
struct GpuKernels {
    /// Each byte once, by 16-byte loads that take no place in L1.
    double (*read)(const GpuGrid&, const void* from, std::size_t bytes, GpuSpan*, void* stream);
    /// Each byte once, by bulk copies into shared memory, `stages` of `chunk` bytes in flight.
    /// sm_90.
    double (*read_bulk)(int ctas, int chunk, int stages, const void* from, std::size_t bytes,
                        GpuSpan*, void* stream);
    /// Every CTA reads its own slice of `from`, whole tiles of it, `rounds` times, past L1.
    double (*reread)(const GpuGrid&, const void* from, std::size_t bytes, int rounds, GpuSpan*,
                     void* stream);
    /// `steps` loads one after the other in every CTA, 16 bytes a thread each, past L1; no CTA
    /// reads what another does before all of `from` was read. `from` holds zeros.
    void (*dependent)(const GpuGrid&, const void* from, std::size_t bytes, int steps, GpuSpan*,
                      void* stream);
    double (*write)(const GpuGrid&, StorePolicy, void* to, std::size_t bytes, GpuSpan*,
                    void* stream);
    double (*write_driver)(void* to, std::size_t bytes, void* stream);  ///< cudaMemsetAsync
    /// Bytes read and bytes written.
    double (*copy)(const GpuGrid&, StorePolicy, void* to, const void* from, std::size_t bytes,
                   GpuSpan*, void* stream);
    double (*copy_driver)(void* to, const void* from, std::size_t bytes, void* stream);
    double (*copy_bulk)(int ctas, int chunk, void* to, const void* from, std::size_t bytes,
                        GpuSpan*, void* stream);  ///< through shared memory. sm_90

    double (*shared)(const GpuGrid&, int rounds, GpuSpan*, void* stream);  ///< bytes loaded
    double (*fma)(const GpuGrid&, int rounds, GpuSpan*, void* stream);     ///< unroll = chains
    double (*ex2)(const GpuGrid&, int rounds, GpuSpan*, void* stream);     ///< unroll = chains
    /// mma.sync m16n8 on random operands. `operands`: matrix_operand_bytes of that type.
    double (*mma)(MatrixType, int ctas, int threads, int rounds, const void* operands, GpuSpan*,
                  void* stream);
    /// wgmma m64n256 by two warpgroups a CTA, A from shared memory or registers. sm_90a.
    double (*wgmma)(MatrixType, bool a_in_registers, int ctas, int rounds, const void* operands,
                    GpuSpan*, void* stream);

    void (*wait)(int microseconds, void* stream);  ///< one thread that does nothing for so long
    void (*empty)(void* stream);
    /// CTAs that do nothing but hold `shared_bytes` of shared memory.
    void (*ctas)(int ctas, int threads, int shared_bytes, void* stream);
    /// Node i of `nodes` (at i × stride) points to node order[i].
    void (*link)(void* nodes, const std::uint32_t* order, std::uint32_t count, std::uint32_t stride,
                 void* stream);
    /// One thread follows `steps` pointers from byte offset *at on and leaves its end there.
    void (*chase)(const void* nodes, std::uint32_t* at, int steps, GpuSpan*, void* stream);
    /// The same on SM `unit`, of `units` that can hold one CTA of `shared_bytes` each.
    void (*chase_on)(int unit, int units, int shared_bytes, const void* nodes, std::uint32_t* at,
                     int steps, void* stream);
    /// Clocks that an atomic addition of 0 to each of `count` blocks takes every SM, the least of
    /// some: cycles[unit x count + block].
    void (*atomic_by_unit)(int units, int shared_bytes, void* blocks, std::uint32_t count,
                           std::uint32_t* cycles, void* stream);
    /// Each block by one SM alone: its cycles, and which SM it was.
    void (*atomic_once)(int units, void* blocks, std::uint32_t count, std::uint32_t* cycles,
                        std::uint32_t* unit, void* stream);
    /// Every listed block once, by the SMs of its list's side; whole tiles of 16 blocks.
    double (*read_listed)(int ctas, const void* blocks, const ListedBlocks&, GpuSpan*,
                          void* stream);
};

/// Random-normal operands of one CTA's matrix products: 2 × 64 rows of A and 256 of B, 128 bytes a
/// row, in four stages.
constexpr std::size_t matrix_stage_bytes = std::size_t{2 * 64 + 256} * 128;
constexpr int matrix_stages = 4;
constexpr std::size_t matrix_operand_bytes = matrix_stage_bytes * matrix_stages;

/// The whole table. Only in builds with CUDA.
const GpuKernels& gpu_kernels();

// The parts of the table, one a device file.
void add_memory_kernels(GpuKernels& table);
void add_bulk_kernels(GpuKernels& table);
void add_l2_kernels(GpuKernels& table);
void add_arithmetic_kernels(GpuKernels& table);
void add_mma_kernels(GpuKernels& table);
void add_wgmma_kernels(GpuKernels& table);

}  // namespace raceline::probe
