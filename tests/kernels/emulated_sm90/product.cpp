// SPDX-License-Identifier: Apache-2.0
// What a product computes. Layouts over threads and shared memory are written here from the PTX
// manual's figures by (row, column), not taken from a kernel.
#include <numeric>

#include "machine.cuh"

namespace raceline::test {
namespace {

constexpr std::uint64_t field(std::uint64_t descriptor, int from) {
    return (descriptor >> from & 0x3fff) << 4;
}

constexpr std::uint32_t swizzle_of(std::uint64_t descriptor) {
    return 256U >> (descriptor >> 62U);  // mode 1, 2, 3: 128, 64, 32 bytes
}

float value(std::uint32_t bits, Operand type) {
    switch (type) {
        case Operand::bf16:
            return __bfloat162float(__nv_bfloat16_raw{static_cast<std::uint16_t>(bits)});
        case Operand::fp16: return __half2float(__half_raw{static_cast<std::uint16_t>(bits)});
        case Operand::e4m3: break;
    }
    const auto byte = static_cast<__nv_fp8_storage_t>(bits);
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3)));
}

int bytes_of(Operand type) {
    return type == Operand::e4m3 ? 1 : 2;
}
int depth_of(Operand type) {
    return type == Operand::e4m3 ? 32 : 16;
}

/// Elements of one product's operands, by their indices.
struct Reader {
    Machine& machine;
    const Product& p;

    [[nodiscard]] float load(std::uint64_t address, std::uint32_t swizzle) const {
        std::uint16_t bits = 0;
        const int bytes = bytes_of(p.type);
        const auto at = swizzled(static_cast<std::uint32_t>(address), swizzle);
        std::memcpy(&bits, machine.at(at, bytes), bytes);
        return value(bits, p.type);
    }
    /// K-major: rows as long as the swizzle is wide, eight a swizzle atom.
    [[nodiscard]] float k_major(std::uint64_t descriptor, int row, int k) const {
        const std::uint32_t pitch = swizzle_of(descriptor);
        return load(field(descriptor, 0) + row / 8 * field(descriptor, 32) + row % 8 * pitch +
                        k * bytes_of(p.type),
                    pitch);
    }
    [[nodiscard]] float a(int m, int k) const {
        if (!p.a_in_registers) {
            return k_major(p.a, m, k);
        }
        // A word has 4 / bytes neighbouring columns; four threads side by side have a row's words.
        const int bytes = bytes_of(p.type);
        const int a_word = 4 / bytes;
        const int columns = 4 * a_word;  // until the next word of the same row
        const int thread = m / 16 * 32 + m % 8 * 4 + k % columns / a_word;
        const int word = m % 16 / 8 + k / columns * 2;
        const std::uint32_t bits = p.a_words[thread][word] >> (k % a_word * 8 * bytes);
        return value(bits & (bytes == 1 ? 0xffU : 0xffffU), p.type);
    }
    [[nodiscard]] float b(int n, int k) const {
        if (!p.a_in_registers || p.type == Operand::e4m3) {
            return k_major(p.b, n, k);
        }
        return load(field(p.b, 0) + n / 64 * field(p.b, 16) + k / 8 * field(p.b, 32) + k % 8 * 128 +
                        n % 64 * 2,
                    128);
    }
};

/// Hopper's 8-bit products lose bits: terms are aligned to the largest, and 13 bits below its
/// leading one are left.
float added_narrowly(float sum, const float* terms, int count) {
    float largest = std::abs(sum);
    for (int i = 0; i < count; ++i) {
        largest = std::max(largest, std::abs(terms[i]));
    }
    if (largest == 0 || !std::isfinite(largest)) {
        return std::accumulate(terms, terms + count, sum);
    }
    const int exponent = std::ilogb(largest) - 13;
    float total = std::trunc(std::scalbn(sum, -exponent));
    for (int i = 0; i < count; ++i) {
        total += std::trunc(std::scalbn(terms[i], -exponent));
    }
    return std::scalbn(total, exponent);
}

}  // namespace

bool Machine::execute_next(Warpgroup& group) {
    if (group.products.empty() || group.products.front().threads < 128) {
        return false;
    }
    const Product p = group.products.front();
    group.products.pop_front();
    ++group.executed;
    const Reader read{*this, p};
    const int depth = depth_of(p.type);
    std::vector<float> a(64 * static_cast<std::size_t>(depth));
    std::vector<float> b(static_cast<std::size_t>(p.columns * depth));
    for (int k = 0; k < depth; ++k) {
        for (int m = 0; m < 64; ++m) {
            a[m * depth + k] = read.a(m, k);
        }
        for (int n = 0; n < p.columns; ++n) {
            b[n * depth + k] = read.b(n, k);
        }
    }
    for (int m = 0; m < 64; ++m) {
        for (int n = 0; n < p.columns; ++n) {
            float terms[32];
            for (int k = 0; k < depth; ++k) {
                terms[k] = a[m * depth + k] * b[n * depth + k];
            }
            const int thread = m / 16 * 32 + m % 8 * 4 + n % 8 / 2;
            float& d = p.d[thread][n / 8 * 4 + m % 16 / 8 * 2 + n % 2];
            const float before = p.accumulate ? d : 0.0F;
            d = p.type == Operand::e4m3 ? added_narrowly(before, terms, depth)
                                        : before + std::accumulate(terms, terms + depth, 0.0F);
        }
    }
    moved();
    return true;
}

}  // namespace raceline::test
