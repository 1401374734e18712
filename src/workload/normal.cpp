// SPDX-License-Identifier: Apache-2.0
#include "workload/normal.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "support/check.hpp"
#include "workload/inputs.hpp"

namespace raceline {
namespace {

constexpr std::size_t table_size = 65536;

/// Quantiles of (i + 1/2) / 65536 by Newton's method, each started from its neighbour.
std::vector<double> make_quantiles() {
    std::vector<double> table(table_size);
    double x = 0;
    for (std::size_t i = table_size / 2; i < table_size; ++i) {
        const double upper = 1 - (static_cast<double>(i) + 0.5) / table_size;
        for (int step = 0; step < 6; ++step) {
            const double tail = 0.5 * std::erfc(x / std::numbers::sqrt2);
            const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
            x += (tail - upper) / density;
        }
        table[i] = x;
        table[table_size - 1 - i] = -x;
    }
    return table;
}

const std::vector<double>& quantiles() {
    static const std::vector<double> table = make_quantiles();
    return table;
}

/// The same quantiles as stored bits of a type: filling is then a table look-up an element.
template <class Bits>
std::vector<Bits> make_encoded(DType dtype) {
    std::vector<Bits> table(table_size);
    for (std::size_t i = 0; i < table_size; ++i) {
        store_element(reinterpret_cast<std::byte*>(table.data()), dtype, i, quantiles()[i]);
    }
    return table;
}

template <class Bits>
void fill(std::byte* at, const Bits* table, std::size_t count, std::uint64_t key,
          std::uint64_t counter) {
    std::size_t done = 0;
    for (; done + 4 <= count; done += 4) {
        const std::uint64_t random = random_bits(key, counter++);
        const std::array<Bits, 4> four{table[random & 0xffff], table[(random >> 16) & 0xffff],
                                       table[(random >> 32) & 0xffff], table[random >> 48]};
        std::memcpy(at + done * sizeof(Bits), four.data(), sizeof(four));
    }
    for (std::uint64_t random = random_bits(key, counter); done < count; ++done, random >>= 16) {
        std::memcpy(at + done * sizeof(Bits), &table[random & 0xffff], sizeof(Bits));
    }
}

// Of the elements of a type, made once.
template <class Bits, DType dtype>
std::span<const std::byte> encoded() {
    static const auto table = make_encoded<Bits>(dtype);
    return std::as_bytes(std::span(table));
}

}  // namespace

double normal_quantile(std::uint16_t bits) {
    return quantiles()[bits];
}

std::span<const std::byte> normal_table(DType dtype) {
    switch (dtype) {
        case DType::fp32: return encoded<std::uint32_t, DType::fp32>();
        case DType::fp16: return encoded<std::uint16_t, DType::fp16>();
        case DType::bf16: return encoded<std::uint16_t, DType::bf16>();
        case DType::e4m3: return encoded<std::uint8_t, DType::e4m3>();
        case DType::nvfp4: break;
    }
    fail(Status::unsupported, "elements of nvfp4 cannot be filled one by one: they share scales");
}

void fill_normal(std::byte* at, DType dtype, std::size_t count, std::uint64_t key,
                 std::uint64_t block) {
    const std::uint64_t counter = block * (longest_run / 4);
    const std::byte* table = normal_table(dtype).data();
    switch (dtype) {
        case DType::fp32:
            return fill(at, reinterpret_cast<const std::uint32_t*>(table), count, key, counter);
        case DType::fp16:
        case DType::bf16:
            return fill(at, reinterpret_cast<const std::uint16_t*>(table), count, key, counter);
        default: return fill(at, reinterpret_cast<const std::uint8_t*>(table), count, key, counter);
    }
}

}  // namespace raceline
