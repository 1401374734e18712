// SPDX-License-Identifier: Apache-2.0
// Small random calls for kernels on the emulated machine, where a block of keys takes milliseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace raceline::test {

/// Text of a shape without its type: head dims up to 256 and multiples of `step`, at most 200 rows
/// (`rows`) and 400 keys, any mask, packed batches among them. The same for the same seed.
inline std::string random_shape(std::uint64_t seed, int step, int rows = 200) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](int most) {
        return static_cast<int>(random() % static_cast<unsigned>(most + 1));
    };
    const int heads_kv = 1 + up_to(1);
    const int group = 1 + up_to(2);
    const int width = std::array{64, 128, 256}[static_cast<std::size_t>(up_to(2))];
    const int d = width - step * up_to(2);
    const int longest = width == 256 ? 250 : 400;
    std::string text = "h=" + std::to_string(heads_kv * group) + "/" + std::to_string(heads_kv) +
                       ",d=" + std::to_string(d);
    if (up_to(3) == 0) {
        std::string q, k;
        for (int b = 0; b < 3; ++b) {
            q += std::to_string(up_to(rows * 3 / 4)) + ";";
            k += std::to_string(up_to(longest)) + ";";
        }
        text += ",q=" + q + ",k=" + k;
    } else {
        text += ",q=" + std::to_string(1 + up_to(rows)) + ",k=" + std::to_string(up_to(longest));
    }
    text += up_to(1) == 0 ? ",causal" : "";
    text += up_to(2) == 0 ? ",window=" + std::to_string(up_to(150)) : "";
    text += up_to(2) == 0 ? ",sinks" : "";
    return text;
}

}  // namespace raceline::test
