// SPDX-License-Identifier: Apache-2.0
// Elements of storage: rounding to a type, encoding and decoding its bits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/check.hpp"
#include "support/rounding.hpp"
#include "workload/inputs.hpp"
#include "workload/nvfp4.hpp"
#include "workload/oracle.hpp"

namespace raceline {
namespace {

/// A binary floating-point format: explicit mantissa bits, exponent of the smallest normal number,
/// largest finite value.
struct Format {
    int mantissa, lowest_exponent;
    double largest;
    bool saturates;
};
constexpr Format fp16{10, -14, 65504, false};
constexpr Format bf16{7, -126, 3.3895313892515355e38, false};
constexpr Format tf32{10, -126, 3.4011621342146535e38, false};
constexpr Format e4m3{3, -6, 448, true};
constexpr Format e2m1{1, 0, 6, true};

/// Exact in double, which holds every value and half-step of these formats.
double nearest_in(double value, const Format& format) {
    if (value == 0 || !std::isfinite(value)) {
        return std::isinf(value) && format.saturates ? std::copysign(format.largest, value) : value;
    }
    const int exponent = std::max(std::ilogb(value), format.lowest_exponent);
    const double step = std::ldexp(1.0, exponent - format.mantissa);
    const double rounded = std::nearbyint(value / step) * step;
    if (std::abs(rounded) <= format.largest) {
        return rounded;
    }
    return std::copysign(
        format.saturates ? format.largest : std::numeric_limits<double>::infinity(), value);
}

/// Sign, exponent and mantissa of a value that the format holds exactly.
std::uint32_t encode(double value, const Format& format, int width, std::uint32_t infinity) {
    const std::uint32_t sign = std::signbit(value) ? 1U << (width - 1) : 0;
    const double magnitude = std::abs(value);
    if (std::isinf(value)) {
        return sign | infinity;
    }
    if (magnitude == 0) {
        return sign;
    }
    const int exponent = std::max(std::ilogb(magnitude), format.lowest_exponent);
    const auto scaled =
        static_cast<std::uint32_t>(std::ldexp(magnitude, format.mantissa - exponent));
    const std::uint32_t hidden = 1U << format.mantissa;
    if (scaled < hidden) {
        return sign | scaled;  // subnormal: exponent field 0
    }
    const auto biased = static_cast<std::uint32_t>(exponent - format.lowest_exponent + 1);
    return sign | (biased << format.mantissa) | (scaled - hidden);
}

double decode(std::uint32_t bits, const Format& format, int width) {
    const std::uint32_t hidden = 1U << format.mantissa;
    const double sign = (bits >> (width - 1)) != 0 ? -1 : 1;
    const std::uint32_t field =
        (bits >> format.mantissa) & ((1U << (width - 1 - format.mantissa)) - 1);
    const std::uint32_t fraction = bits & (hidden - 1);
    const double scaled = field == 0 ? fraction : fraction + hidden;
    const int exponent = field == 0 ? 1 : static_cast<int>(field);
    return sign * std::ldexp(scaled, exponent - 1 + format.lowest_exponent - format.mantissa);
}

double decode_fp16(std::uint32_t bits) {
    if ((bits & 0x7c00) == 0x7c00) {  // infinity or NaN
        const double special = (bits & 0x3ff) != 0 ? std::numeric_limits<double>::quiet_NaN()
                                                   : std::numeric_limits<double>::infinity();
        return (bits & 0x8000) != 0 ? -special : special;
    }
    return decode(bits, fp16, 16);
}

double decode_e4m3(std::uint32_t bits) {
    return (bits & 0x7f) == 0x7f ? std::numeric_limits<double>::quiet_NaN() : decode(bits, e4m3, 8);
}

/// All values of a small type: the oracle reads millions of elements.
template <std::size_t N>
std::vector<float> all_values(double (*decoder)(std::uint32_t)) {
    std::vector<float> values(N);
    for (std::uint32_t bits = 0; bits < N; ++bits) {
        values[bits] = static_cast<float>(decoder(bits));
    }
    return values;
}

template <class Bits>
Bits read(const std::byte* base, std::size_t index) {
    Bits bits;
    std::memcpy(&bits, base + index * sizeof(Bits), sizeof(Bits));
    return bits;
}

template <class Bits>
void write(std::byte* base, std::size_t index, Bits bits) {
    std::memcpy(base + index * sizeof(Bits), &bits, sizeof(Bits));
}

}  // namespace

double round_to(double value, Rounding type) {
    switch (type) {
        case Rounding::fp64: return value;
        case Rounding::e4m3_sum:  // what a sum is stored as; its additions are another matter
        case Rounding::fp32: return static_cast<double>(static_cast<float>(value));
        case Rounding::tf32: return nearest_in(value, tf32);
        case Rounding::bf16: return nearest_in(value, bf16);
        case Rounding::fp16: return nearest_in(value, fp16);
        case Rounding::e4m3: return nearest_in(value, e4m3);
        case Rounding::fp32_rz: {
            const auto nearest = static_cast<float>(value);
            const bool away = std::abs(static_cast<double>(nearest)) > std::abs(value);
            return static_cast<double>(away ? std::nextafter(nearest, 0.0F) : nearest);
        }
    }
    return value;
}

double load_element(const std::byte* base, DType dtype, std::size_t index) {
    switch (dtype) {
        case DType::fp32: return static_cast<double>(read<float>(base, index));
        case DType::fp16: {
            static const std::vector<float> values = all_values<65536>(decode_fp16);
            return static_cast<double>(values[read<std::uint16_t>(base, index)]);
        }
        case DType::bf16: {
            const std::uint32_t bits = read<std::uint16_t>(base, index);
            return static_cast<double>(std::bit_cast<float>(bits << 16));
        }
        case DType::e4m3: {
            static const std::vector<float> values = all_values<256>(decode_e4m3);
            return static_cast<double>(values[read<std::uint8_t>(base, index)]);
        }
        case DType::nvfp4: break;
    }
    fail(Status::unsupported, "elements of nvfp4 cannot be read one by one: they share scales");
}

void store_element(std::byte* base, DType dtype, std::size_t index, double value) {
    const bool nan = std::isnan(value);
    switch (dtype) {
        case DType::fp32: write(base, index, static_cast<float>(value)); return;
        case DType::fp16: {
            const auto bits = nan ? 0x7fffU : encode(nearest_in(value, fp16), fp16, 16, 0x7c00);
            write(base, index, static_cast<std::uint16_t>(bits));
            return;
        }
        case DType::bf16: {
            const auto rounded = static_cast<float>(nan ? value : nearest_in(value, bf16));
            write(base, index,
                  static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16));
            return;
        }
        case DType::e4m3: {
            const auto bits = nan ? 0x7fU : encode(nearest_in(value, e4m3), e4m3, 8, 0x7e);
            write(base, index, static_cast<std::uint8_t>(bits));
            return;
        }
        case DType::nvfp4: break;
    }
    fail(Status::unsupported, "elements of nvfp4 cannot be written one by one: they share scales");
}

Nvfp4Pages::Nvfp4Pages(const Workload& w, std::int64_t row) {
    constexpr std::int64_t step = 256;  // elements: 128 bytes of codes, 16 of scales
    const std::int64_t together = w.seqlens_k.empty() ? w.seqlen_k : w.tokens_k();
    tokens = std::max<std::int64_t>(1, w.page_size != 0 ? w.page_size : together);
    elements = round_up(tokens * row, step);
}

void store_nvfp4(std::byte* page, std::int64_t page_elements, std::int64_t first,
                 std::span<const float> values) {
    for (std::size_t at = 0; at < values.size(); at += nvfp4_block) {
        const auto block = values.subspan(at, nvfp4_block);
        double largest = 0;
        for (const float x : block) {
            largest = std::max(largest, static_cast<double>(std::abs(x)));
        }
        const auto index = static_cast<std::size_t>(first) + at;
        const std::size_t scale_at =
            static_cast<std::size_t>(page_elements) / 2 + index / nvfp4_block;
        store_element(page, DType::e4m3, scale_at, largest / e2m1.largest);
        const double scale = load_element(page, DType::e4m3, scale_at);
        for (std::size_t i = 0; i < block.size(); ++i) {
            // A scale may round to 0: then so do its elements.
            const double x = scale > 0 ? static_cast<double>(block[i]) / scale : 0;
            const std::uint32_t code = encode(nearest_in(x, e2m1), e2m1, 4, 7);
            std::byte& pair = page[(index + i) / 2];
            pair = i % 2 == 0 ? std::byte(code) : pair | std::byte(code << 4);
        }
    }
}

void load_nvfp4(const std::byte* page, std::int64_t page_elements, std::int64_t first,
                std::span<float> values) {
    static const std::vector<float> codes =
        all_values<16>([](std::uint32_t bits) { return decode(bits, e2m1, 4); });
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t index = static_cast<std::size_t>(first) + i;
        const auto pair = static_cast<std::uint32_t>(page[index / 2]);
        const double scale = load_element(
            page, DType::e4m3, static_cast<std::size_t>(page_elements) / 2 + index / nvfp4_block);
        values[i] = codes[pair >> (index % 2 * 4) & 0xf] * static_cast<float>(scale);
    }
}

}  // namespace raceline
