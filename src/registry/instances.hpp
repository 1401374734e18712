// SPDX-License-Identifier: Apache-2.0
// From a tile, a type and options known at run time to the device code compiled for them, for every
// engine. An engine writes what it compiles in a header:
//
//   struct Instances : InstancesOf<Params, tiles, 2> {
//       static constexpr std::string_view engine = "simt";  // begins the sentences of errors
//       template <int tile, int variant> static auto code() -> void (*)(Params);
//   };
//
// and defines code() where its device code is, in forward.cuh or forward.sm90a.cuh. CMake generates
// the translation units, so that tiles compile side by side. Nobody writes one by hand.
#pragma once

#include <string>
#include <utility>

#include "raceline/error.hpp"

namespace raceline {

struct LaunchShape;

/// What Instances of an engine have in common. An instance is one of `its_tiles` and a variant.
template <class ItsParams, const auto& its_tiles, int its_variants>
struct InstancesOf {
    using Params = ItsParams;  ///< what the device code gets
    static constexpr int tiles = static_cast<int>(its_tiles.size());
    static constexpr int variants = its_variants;
    /// Of an engine whose variants are these two: the type, and an option of the engine.
    static constexpr int variant(bool bf16, bool option = false) {
        return (bf16 ? 1 : 0) + (option ? 2 : 0);
    }
    /// Every instance, unless the engine says otherwise.
    template <int tile, int variant>
    static constexpr bool compiled = true;
};

/// Generated units of an engine: three tiles in each, every shards_of-th one. As CMake counts them.
template <class Instances>
inline constexpr int shards_of = (Instances::tiles + 2) / 3;

/// Enqueues the instance if its tile is one of this shard's. Returns whether it is compiled.
/// Defined in instances.cuh, instantiated in the generated units.
template <class Instances, int shard>
bool launch_of_shard(int tile, int variant, const typename Instances::Params& params,
                     const LaunchShape& shape);

/// Enqueues the device code of `tile` in this variant; refuses one that is not compiled.
template <class Instances>
void launch_instance(int tile, int variant, const typename Instances::Params& params,
                     const LaunchShape& shape) {
    constexpr int shards = shards_of<Instances>;
    const auto in_some_shard = [&]<int... shard>(std::integer_sequence<int, shard...>) {
        return ((tile % shards == shard &&
                 launch_of_shard<Instances, shard>(tile, variant, params, shape)) ||
                ...);
    };
    if (!in_some_shard(std::make_integer_sequence<int, shards>())) {
        throw Error(Status::unsupported, std::string(Instances::engine) +
                                             ": it has no code for tile " + std::to_string(tile) +
                                             " in variant " + std::to_string(variant));
    }
}

}  // namespace raceline
