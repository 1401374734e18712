// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "run/backend.hpp"

namespace raceline {

/// Draws of inputs with their answers. Every tile and kernel of one workload sees the same draws:
/// they are made once. Those of one workload at a time are kept, which bounds the memory; of one
/// whose inputs have more than `most_bytes`, the last alone. `Drawn` is made of workload, seed and
/// kind, and refers to the workload.
template <class Drawn>
class DrawCache {
public:
    explicit DrawCache(double most_bytes) : most_bytes_(most_bytes) {}

    Drawn& of(const Workload& workload, std::uint64_t case_seed, Draw draw,
              std::uint64_t draw_seed) {
        const bool same = for_ && *for_ == workload && seed_ == case_seed;
        if (!same || (workload.bytes_read() > most_bytes_ && !drawn_.contains(draw))) {
            drawn_.clear();  // before the workload that they refer to
            for_ = workload;
            seed_ = case_seed;
        }
        return drawn_.try_emplace(draw, *for_, draw_seed, draw).first->second;
    }

private:
    double most_bytes_;
    std::optional<Workload> for_;
    std::uint64_t seed_ = 0;
    std::map<Draw, Drawn> drawn_;
};

/// Those of attention, and those of other operations.
template <class Attention, class Operation>
class Draws {
public:
    explicit Draws(double most_bytes) : attention_(most_bytes), operations_(most_bytes) {}

    /// What `with` makes of the cache that serves a kernel.
    template <class With>
    auto serve(const Kernel& kernel, const With& with) {
        return kernel.launch_operation != nullptr ? with(operations_) : with(attention_);
    }

private:
    DrawCache<Attention> attention_;
    DrawCache<Operation> operations_;
};

}  // namespace raceline
