// SPDX-License-Identifier: Apache-2.0
// What the generated translation units instantiate (instances.hpp).
#pragma once

#include <string>
#include <type_traits>

#include "registry/enqueue.cuh"
#include "registry/instances.hpp"

namespace raceline {

template <class Instances, int shard>
bool launch_of_shard(int tile, int variant, const typename Instances::Params& params,
                     const LaunchShape& shape) {
    constexpr int shards = shards_of<Instances>;
    const auto launch_if = [&]<int flat>(std::integral_constant<int, flat>) {
        constexpr int its_tile = flat / Instances::variants * shards + shard;
        constexpr int its_variant = flat % Instances::variants;
        if constexpr (Instances::template compiled<its_tile, its_variant>) {
            if (tile == its_tile && variant == its_variant) {
                enqueue(Instances::engine.data(), Instances::template code<its_tile, its_variant>(),
                        shape, params);
                return true;
            }
        }
        return false;
    };
    constexpr int tiles_here = (Instances::tiles - shard + shards - 1) / shards;
    const auto one_of = [&]<int... flat>(std::integer_sequence<int, flat...>) {
        return (launch_if(std::integral_constant<int, flat>()) || ...);
    };
    return one_of(std::make_integer_sequence<int, tiles_here * Instances::variants>());
}

}  // namespace raceline
