// SPDX-License-Identifier: Apache-2.0
#include "plot/peer_looks.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace raceline {
namespace {

struct Contender {
    std::string_view peer, form;  // "": any
    std::size_t number;
};

// The page has six colours. Peers that are asked about the same shapes have different ones.
constexpr std::size_t page_colours = 6;
constexpr std::array contenders{Contender{"cudnn", "", 0},
                                Contender{"fa2", "", 1},
                                Contender{"fa3", "", 2},
                                Contender{"fa4", "", 3},
                                Contender{"flashinfer", "", 4},
                                Contender{"xqa", "", 5},
                                Contender{"torch", "", 7},
                                Contender{"torch_compile", "", 8},
                                Contender{"flashinfer_decode", "", 10},
                                Contender{"torch_cpu", "sdpa", 12},
                                Contender{"torch_cpu", "enable_gqa", 13},
                                Contender{"torch_cpu", "folded_rows", 14},
                                Contender{"torch_cpu", "matmul_softmax", 15}};
constexpr std::size_t first_other = 18;

const Contender* known_of(const TimedPeer& peer) {
    const auto* const found = std::ranges::find_if(contenders, [&](const Contender& one) {
        return one.peer == peer.peer && (one.form.empty() || one.form == peer_form(peer));
    });
    return found == contenders.end() ? nullptr : found;
}

}  // namespace

std::string peer_form(const TimedPeer& peer) {
    return peer.form.substr(0, peer.form.find(':'));
}

std::vector<std::size_t> peer_numbers(std::span<const TimedPeer> peers) {
    const auto name = [](const TimedPeer& peer) { return std::pair(peer.peer, peer_form(peer)); };
    std::set<std::pair<std::string, std::string>> others;
    for (const TimedPeer& peer : peers) {
        if (known_of(peer) == nullptr) {
            others.insert(name(peer));
        }
    }
    std::vector<std::size_t> numbers;
    for (const TimedPeer& peer : peers) {
        const Contender* one = known_of(peer);
        const auto place = std::distance(others.begin(), others.lower_bound(name(peer)));
        numbers.push_back(one != nullptr ? one->number
                                         : first_other + static_cast<std::size_t>(place));
    }
    return numbers;
}

Colour peer_colour(std::size_t number) {
    return nth_colour(number % page_colours);
}

Mark peer_mark(std::size_t number) {
    return nth_mark(number + number / page_colours);
}

}  // namespace raceline
