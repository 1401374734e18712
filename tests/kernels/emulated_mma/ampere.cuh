// SPDX-License-Identifier: Apache-2.0
// What mma.sync kernels need beside the machine of emulated_sm90: copies that land late, and
// instructions that a warp executes together. Written from the PTX manual's figures by (row,
// column), not taken from the kernel.
#pragma once

#include "machine.cuh"

namespace raceline::test {

class Ampere {
public:
    static Ampere& get();

    /// cp.async: lands at some later time, at the latest when its group is waited for. Source and
    /// destination are looked at only then. `size`: 4 or 16, of which `bytes` are read.
    void copy_late(std::uint32_t to, const void* from, int bytes, int size = 16);
    void commit_copies();
    void wait_copies(std::size_t pending);

    void load_matrices(std::uint32_t (&d)[4], std::uint32_t address, bool transposed);
    void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                  bool bf16);
    void multiply_e4m3(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);

    std::size_t copies_under_way() const;
    std::uint64_t products() const { return products_; }  ///< 16 × 8 × 16 or 32, since the start

private:
    struct Copy {
        std::uint32_t to;
        const std::byte* from;
        int bytes, size;
        std::size_t group;
    };
    struct Thread {
        std::vector<Copy> copies;
        std::size_t groups = 0;  ///< committed so far
    };
    struct Warp {
        std::array<void*, 32> lanes{};
        int arrived = 0, instruction = 0;
        std::uint64_t generation = 0;
    };
    using Lanes = std::array<void*, 32>;
    /// Waits for the whole warp; the last lane does the work for all.
    void together(int instruction, void* mine, const std::function<void(const Lanes&)>& work);
    void land(Thread& thread, std::size_t which);
    void land_some();
    Thread& me() { return threads_[threadIdx.x]; }

    std::array<Thread, 1024> threads_;
    std::array<Warp, 32> warps_;
    std::uint64_t products_ = 0;
    std::mt19937 random_{2};
};

}  // namespace raceline::test

inline float __fdividef(float a, float b) {
    return a / b;
}
