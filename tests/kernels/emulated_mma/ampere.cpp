// SPDX-License-Identifier: Apache-2.0
#include "ampere.cuh"

#include <cuda_fp8.h>

namespace raceline::test {
namespace {

float value(std::uint32_t word, int half, bool bf16) {
    const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
    return bf16 ? __bfloat162float(__nv_bfloat16_raw{bits}) : __half2float(__half_raw{bits});
}

float e4m3(std::uint32_t word, int byte) {
    const auto bits = static_cast<__nv_fp8_storage_t>(word >> (8 * byte));
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, __NV_E4M3)));
}

struct Matrices {
    std::uint32_t* d;
    std::uint32_t address;
    bool transposed;
};
struct Operands {
    float* d;
    const std::uint32_t *a, *b;
    bool bf16;
};

template <class T>
T& of(const std::array<void*, 32>& lanes, int lane) {
    return *static_cast<T*>(lanes[static_cast<std::size_t>(lane)]);
}

}  // namespace

Ampere& Ampere::get() {
    static Ampere machine;
    return machine;
}

void Ampere::copy_late(std::uint32_t to, const void* from, int bytes, int size) {
    const auto aligned = static_cast<std::uintptr_t>(size);
    if (to % aligned != 0 || (bytes > 0 && reinterpret_cast<std::uintptr_t>(from) % aligned != 0) ||
        bytes < 0 || bytes > size) {
        throw std::logic_error("cp.async at an address that is no multiple of its size");
    }
    me().copies.push_back({to, static_cast<const std::byte*>(from), bytes, size, me().groups});
    land_some();
}

void Ampere::land(Thread& thread, std::size_t which) {
    const Copy c = thread.copies[which];
    thread.copies.erase(thread.copies.begin() + static_cast<std::ptrdiff_t>(which));
    std::array<std::byte, 16> bytes{};
    if (c.bytes > 0) {
        std::memcpy(bytes.data(), c.from, static_cast<std::size_t>(c.bytes));
    }
    std::memcpy(Machine::get().at(c.to, c.size), bytes.data(), c.size);
    Machine::get().moved();
}

// Now and then one copy of some thread, in any order.
void Ampere::land_some() {
    if (random_() % 4 == 0) {
        Thread& thread = threads_[random_() % blockDim.x];
        if (!thread.copies.empty()) {
            land(thread, random_() % thread.copies.size());
        }
    }
}

void Ampere::commit_copies() {
    ++me().groups;
}

void Ampere::wait_copies(std::size_t pending) {
    Thread& thread = me();
    for (std::size_t i = thread.copies.size(); i-- > 0;) {
        if (thread.copies[i].group + pending < thread.groups) {
            land(thread, i);
        }
    }
    Machine::get().pause();
}

std::size_t Ampere::copies_under_way() const {
    std::size_t count = 0;
    for (const Thread& thread : threads_) {
        count += thread.copies.size();
    }
    return count;
}

void Ampere::together(int instruction, void* mine, const std::function<void(const Lanes&)>& work) {
    Warp& warp = warps_[threadIdx.x / 32];
    const std::uint64_t generation = warp.generation;
    if (warp.arrived > 0 && warp.instruction != instruction) {
        throw std::logic_error("lanes of a warp execute different instructions");
    }
    warp.instruction = instruction;
    warp.lanes[threadIdx.x % 32] = mine;
    if (++warp.arrived == 32) {
        warp.arrived = 0;
        ++warp.generation;
        land_some();
        work(warp.lanes);
        Machine::get().moved();
    }
    while (warp.generation == generation) {
        Machine::get().pause();
    }
}

void Ampere::load_matrices(std::uint32_t (&d)[4], std::uint32_t address, bool transposed) {
    if (address % 16 != 0) {
        throw std::logic_error("ldmatrix from an address that is no multiple of 16");
    }
    Matrices mine{d, address, transposed};
    together(transposed ? 1 : 2, &mine, [](const Lanes& lanes) {
        for (int matrix = 0; matrix < 4; ++matrix) {
            std::uint16_t elements[8][8];
            for (int row = 0; row < 8; ++row) {
                const std::uint32_t from = of<Matrices>(lanes, 8 * matrix + row).address;
                std::memcpy(elements[row], Machine::get().at(from, 16), 16);
            }
            for (int lane = 0; lane < 32; ++lane) {
                const Matrices& to = of<Matrices>(lanes, lane);
                const int major = lane / 4;
                const int minor = lane % 4 * 2;
                const std::uint32_t low =
                    to.transposed ? elements[minor][major] : elements[major][minor];
                const std::uint32_t high =
                    to.transposed ? elements[minor + 1][major] : elements[major][minor + 1];
                to.d[matrix] = low | high << 16;
            }
        }
    });
}

void Ampere::multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                      bool bf16) {
    Operands mine{d, a, b, bf16};
    together(bf16 ? 3 : 4, &mine, [this](const Lanes& lanes) {
        const bool bf16 = of<Operands>(lanes, 0).bf16;
        float left[16][16], right[16][8];
        for (int k = 0; k < 16; ++k) {
            for (int m = 0; m < 16; ++m) {
                const int lane = m % 8 * 4 + k % 8 / 2;
                left[m][k] = value(of<Operands>(lanes, lane).a[m / 8 + k / 8 * 2], k % 2, bf16);
            }
            for (int n = 0; n < 8; ++n) {
                const int lane = n * 4 + k % 8 / 2;
                right[k][n] = value(of<Operands>(lanes, lane).b[k / 8], k % 2, bf16);
            }
        }
        for (int m = 0; m < 16; ++m) {
            for (int n = 0; n < 8; ++n) {
                float& sum = of<Operands>(lanes, m % 8 * 4 + n / 2).d[m / 8 * 2 + n % 2];
                for (int k = 0; k < 16; ++k) {
                    sum += left[m][k] * right[k][n];
                }
            }
        }
        ++products_;
    });
}

// As above, with four columns of one byte where those have two of two.
void Ampere::multiply_e4m3(float (&d)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
    Operands mine{d, a, b, false};
    together(5, &mine, [this](const Lanes& lanes) {
        for (int m = 0; m < 16; ++m) {
            for (int n = 0; n < 8; ++n) {
                float& sum = of<Operands>(lanes, m % 8 * 4 + n / 2).d[m / 8 * 2 + n % 2];
                for (int k = 0; k < 32; ++k) {
                    const int thread = k % 16 / 4;
                    const Operands& left = of<Operands>(lanes, m % 8 * 4 + thread);
                    const Operands& right = of<Operands>(lanes, n * 4 + thread);
                    sum += e4m3(left.a[m / 8 + k / 16 * 2], k % 4) * e4m3(right.b[k / 16], k % 4);
                }
            }
        }
        ++products_;
    });
}

}  // namespace raceline::test
