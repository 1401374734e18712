// SPDX-License-Identifier: Apache-2.0
#include "raceline/sizes.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <fmt/ranges.h>
#include <map>
#include <mutex>
#include <omp.h>
#include <optional>
#include <shared_mutex>

#include "api/engine_choice.hpp"
#include "api/predicted_case.hpp"
#include "model/prediction.hpp"
#include "model/speed_of_light.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/operation_shape.hpp"
#include "workload/shape_field.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {

// Named: a class that others see has members of them.
namespace api {

/// Where a varying field is kept in a workload.
struct SizeSlot {
    std::int64_t Workload::* member = nullptr;  ///< of attention
    std::string extent;                         ///< of another operation
    void set(Workload& w, std::int64_t size) const {
        if (member != nullptr) {
            w.*member = size;
        } else {
            w.extents.find(extent)->second = size;
        }
    }
};

/// A kernel in a tile, or none.
struct SizeDecision {
    const Kernel* kernel = nullptr;
    int tile = -1;
};

}  // namespace api

namespace {

using api::SizeDecision;
using api::SizeSlot;

[[noreturn]] void refuse_field(const std::string& field, const Workload& w) {
    std::vector<std::string_view> names;
    if (w.is_attention()) {
        names = {"b", "q", "k"};
    }
    for (const auto& [name, size] : w.extents) {
        names.emplace_back(name);
    }
    const std::string_view near = nearest(std::string_view(field).substr(0, 40), names);
    fail(Status::invalid_argument, "{} has no size {} that may vary{}; there are: {}",
         name_of_operation(w), in_quotes(field),
         near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), fmt::join(names, " "));
}

SizeSlot slot_of(const std::string& field, const Workload& w) {
    if (w.is_attention() && field == "b") {
        return {&Workload::batch, {}};
    }
    if (w.is_attention() && field == "q") {
        return {&Workload::seqlen_q, {}};
    }
    if (w.is_attention() && field == "k") {
        return {&Workload::seqlen_k, {}};
    }
    if (!w.extents.contains(field)) {
        refuse_field(field, w);
    }
    return {nullptr, field};
}

/// A limiter's name in memory that outlives the prediction: the device's, or a word of the model.
std::string_view lasting(const Device& device, std::string_view limiter) {
    if (const auto rate = device.rates.find(limiter); rate != device.rates.end()) {
        return rate->first;
    }
    for (const std::string_view word : {"dram", "latency", "tail", "launch"}) {
        if (word == limiter) {
            return word;
        }
    }
    return "";
}

/// Sizes between two powers of two share a decision.
std::vector<int> bucket_of(std::span<const std::int64_t> sizes) {
    std::vector<int> bucket;
    bucket.reserve(sizes.size());
    for (const std::int64_t size : sizes) {
        bucket.push_back(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))));
    }
    return bucket;
}

}  // namespace

struct SizeModel::State {
    Workload shape;
    std::vector<SizeSlot> slots;
    Device device;
    std::string kernel;
    LaunchCase how;
    BoundRates bound;
    mutable std::shared_mutex lock;
    mutable std::map<std::vector<int>, SizeDecision> decisions;

    [[nodiscard]] SizeDecision decide(const Workload& w) const {
        try {
            const api::EngineChoice choice =
                api::choose_engine(w, device, 0, {.backend = kernel, .must_run = false});
            return {choice.kernel, choice.tile};
        } catch (const Error& error) {
            if (error.status() != Status::unsupported) {
                throw;
            }
            return {};
        }
    }

    [[nodiscard]] SizeDecision decision(std::span<const std::int64_t> sizes,
                                        const Workload& w) const {
        const std::vector<int> bucket = bucket_of(sizes);
        {
            const std::shared_lock held(lock);
            if (const auto known = decisions.find(bucket); known != decisions.end()) {
                return known->second;
            }
        }
        const SizeDecision made = decide(w);
        const std::unique_lock held(lock);
        return decisions.try_emplace(bucket, made).first->second;
    }

    /// `w` is a copy of `shape` whose sizes that vary are whatever was asked for last.
    [[nodiscard]] SizeTime at(std::span<const std::int64_t> sizes, Workload& w) const {
        require(sizes.size() == slots.size(), Status::invalid_argument,
                "{} sizes were given for {} that vary", sizes.size(), slots.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            require(sizes[i] >= 0, Status::invalid_argument, "size {} is {}: it must be 0 or more",
                    i, sizes[i]);
            slots[i].set(w, sizes[i]);
        }
        w.is_attention() ? validate(w) : find_operation(w.op).validate(w);
        const ProblemWork work = work_of(w);
        SizeTime time;
        time.bound_seconds = bound_seconds(bound, work);
        SizeDecision made = decision(sizes, w);
        if (made.kernel != nullptr && !made.kernel->why_not(w, made.tile, device).empty()) {
            made = decide(w);  // what serves most of these sizes does not serve this one
        }
        if (made.kernel == nullptr) {
            time.limiter = lasting(device, speed_of_light(device, bound, work).limiter);
            return time;
        }
        const std::vector<Counts> launches = made.kernel->counts(w, made.tile, device);
        const LimitedTime predicted = predict_time(device, launches, how);
        time.seconds = predicted.seconds;
        time.kernel = made.kernel->name;
        time.tile = made.tile;
        time.limiter = lasting(device, predicted.limiter);
        return time;
    }
};

SizeModel::SizeModel(const std::string& shape, const std::vector<std::string>& varying,
                     const std::string& device, const std::string& kernel)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.shape = parse_shape(shape);
    require(!s.shape.ragged(), Status::invalid_argument,
            "a shape with a length for each sequence has no size that may vary");
    for (const std::string& field : varying) {
        s.slots.push_back(slot_of(field, s.shape));
    }
    s.device = api::device_of_prediction(device, 0);
    s.kernel = kernel;
    if (!kernel.empty()) {
        find_kernel(kernel);  // refuses an unknown name with the nearest one
    }
    s.how = api::launch_case(s.device, 0);
    s.bound = bound_rates(s.device, work_of(s.shape), s.how);
}

SizeModel::~SizeModel() = default;
SizeModel::SizeModel(SizeModel&&) noexcept = default;
SizeModel& SizeModel::operator=(SizeModel&&) noexcept = default;

SizeTime SizeModel::at(std::span<const std::int64_t> sizes) const {
    Workload w = state_->shape;
    return state_->at(sizes, w);
}

std::vector<SizeTime> SizeModel::at_all(std::span<const std::int64_t> sizes, int threads) const {
    const std::size_t each = std::max<std::size_t>(1, state_->slots.size());
    require(sizes.size() % each == 0, Status::invalid_argument,
            "{} sizes are no whole number of points of {}", sizes.size(), each);
    std::vector<SizeTime> times(sizes.size() / each);
    std::exception_ptr first;
#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_num_procs())
    {
        Workload w = state_->shape;
#pragma omp for schedule(dynamic, 64)
        for (std::size_t i = 0; i < times.size(); ++i) {
            try {
                times[i] = state_->at(sizes.subspan(i * each, each), w);
            } catch (...) {
#pragma omp critical(raceline_sizes)
                first = first ? first : std::current_exception();
            }
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
    return times;
}

}  // namespace raceline
