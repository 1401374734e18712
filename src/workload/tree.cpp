// SPDX-License-Identifier: Apache-2.0
#include "workload/tree.hpp"

#include "workload/draw.hpp"
#include "workload/normal.hpp"

namespace raceline {

std::vector<std::uint32_t> drawn_tree(const Workload& w, std::int64_t sequence) {
    const std::uint64_t key =
        stream_key(stream_key(static_cast<std::uint64_t>(w.tree), stream_tree),
                   static_cast<std::uint64_t>(sequence));
    std::vector<std::uint32_t> words;
    for (std::int64_t i = 0; i < w.length_q(sequence); ++i) {
        const auto place = static_cast<std::uint64_t>(i);
        const std::uint64_t parent = random_below(key, place, place + 1);  // `place`: it has none
        const std::uint32_t above = parent < place ? words[parent] : 0;
        words.push_back(above | std::uint32_t{1} << place);
    }
    return words;
}

std::vector<std::uint32_t> stored_trees(const Workload& w, std::uint64_t seed, bool garbage) {
    const std::uint64_t key = stream_key(seed, stream_tree_garbage);
    std::vector<std::uint32_t> stored;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const std::int64_t tokens = w.length_q(b);
        for (const std::uint32_t word : drawn_tree(w, b)) {
            const auto bits = static_cast<std::uint32_t>(random_bits(key, stored.size()));
            const bool room = garbage && tokens < most_tree_tokens;
            stored.push_back(room ? word | bits << tokens : word);
        }
    }
    return stored;
}

SeenKeys seen_keys_of(const Workload& w, std::int64_t sequence, std::int64_t row,
                      std::uint32_t word) {
    const auto [first, last] = w.visible(sequence, row);
    if (w.tree == 0) {
        return {first, last};
    }
    return {first, last, w.length_k(sequence) - w.length_q(sequence), word};
}

double pairs_of_tree(const Workload& w, std::int64_t sequence) {
    const std::vector<std::uint32_t> words = drawn_tree(w, sequence);
    std::int64_t pairs = 0;
    for (std::int64_t row = 0; row < w.length_q(sequence); ++row) {
        pairs += seen_keys_of(w, sequence, row, words[row]).count();
    }
    return static_cast<double>(pairs);
}

}  // namespace raceline
