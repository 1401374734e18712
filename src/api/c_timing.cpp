// SPDX-License-Identifier: Apache-2.0
// raceline.h: the library's clock for whatever a caller can enqueue.
#include "api/c_timing.hpp"

#include <cmath>
#include <vector>

#include "api/c_boundary.hpp"
#include "api/refusal.hpp"
#include "timing/contenders.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline::api {
namespace {

// Element i of a caller's array, whose elements may be shorter or longer than ours.
template <class T>
T* element(T* first, std::int64_t i) {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(first) +
                                static_cast<std::size_t>(i) * first->struct_size);
}

template <class T>
std::vector<T> read_all(const T* given, std::int64_t count, std::string_view name) {
    std::vector<T> all;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string which = fmt::format("{}[{}]", name, i);
        const T* const one = element(given, i);
        require(one->struct_size == given->struct_size && one->struct_size % alignof(T) == 0, bad,
                "{}.struct_size is {}, that of the first {}; all must be sizeof the struct, {} in "
                "this version",
                which, one->struct_size, given->struct_size, sizeof(T));
        all.push_back(read_struct(one, which));
    }
    return all;
}

std::function<void(void*)> checked_call(int32_t (*function)(void*, void*), void* context,
                                        const std::string& name, const char* what) {
    if (function == nullptr) {
        return {};
    }
    return [=](void* stream) {
        const int32_t status = function(context, stream);
        require(status == 0, Status::internal, "contender '{}' failed: its function for {} gave {}",
                name, what, status);
    };
}

double time_or(double value, double otherwise, const char* member) {
    require(std::isfinite(value) && value >= 0, bad,
            "options.{} is {}; it must be a finite number, not negative", member, value);
    return value > 0 ? value : otherwise;
}

int count_or(std::int32_t value, int otherwise, const char* member) {
    require(value >= 0, bad, "options.{} is {}; it must not be negative", member, value);
    return value > 0 ? value : otherwise;
}

TimingOptions read_timing_options(const rl_timing_options* given) {
    TimingOptions options;
    rl_timing_options known{};
    if (given != nullptr) {
        known = read_struct(given, "options");
    }
    StopLimits& limits = options.limits;
    limits.relative_half_width =
        time_or(known.half_width, limits.relative_half_width, "half_width");
    limits.min_samples = count_or(known.min_samples, limits.min_samples, "min_samples");
    limits.max_samples = count_or(known.max_samples, limits.max_samples, "max_samples");
    limits.min_seconds = time_or(known.min_seconds, 0, "min_seconds");
    limits.max_seconds = time_or(known.max_seconds, limits.max_seconds, "max_seconds");
    options.ramp_seconds = time_or(known.ramp_seconds, options.ramp_seconds, "ramp_seconds");
    options.separate = known.separate != 0;
    options.order_seed = known.order_seed != 0 ? known.order_seed : options.order_seed;
    if (const std::string regime = text_or_empty(known.regime); !regime.empty()) {
        options.regime = regime;
    }
    return options;
}

rl_timing timing_of(const Measurement& m) {
    rl_timing timing{};
    timing.seconds_median = m.seconds_median;
    timing.seconds_low = m.seconds_low;
    timing.seconds_high = m.seconds_high;
    timing.seconds_call = m.seconds_call;
    timing.sm_clock_hz = m.sm_clock_hz;
    timing.power_w = m.power_w;
    timing.samples = m.samples;
    timing.disturbed = m.disturbed;
    timing.unsettled = m.unsettled ? 1 : 0;
    timing.settled = m.settled ? 1 : 0;
    timing.throttled = m.throttled ? 1 : 0;
    m.disturbance.copy(timing.disturbance, sizeof(timing.disturbance) - 1);
    return timing;
}

std::vector<Measurement> time_at(Place place, const std::vector<Contender>& contenders,
                                 const TimingOptions& options) {
    if (place == Place::cpu) {
        return time_on_cpu(contenders, options);
    }
    const std::string reason = cuda::why_unavailable();
    require(reason.empty(), Status::no_device, "there is no GPU to time on: {}", reason);
    const cuda::Stream stream;
    return time_on_gpu(contenders, stream, options);
}

}  // namespace

Measurement read_timing(const rl_timing* given, std::string_view name) {
    const rl_timing timing = read_struct(given, name);
    Measurement m;
    m.seconds_median = timing.seconds_median;
    m.seconds_low = timing.seconds_low;
    m.seconds_high = timing.seconds_high;
    require(std::isfinite(m.seconds_high) && 0 < m.seconds_low &&
                m.seconds_low <= m.seconds_median && m.seconds_median <= m.seconds_high,
            bad,
            "{} has a median of {} s with an interval from {} to {} s; times must be above 0, and "
            "the median within its interval",
            name, m.seconds_median, m.seconds_low, m.seconds_high);
    for (const double amount : {timing.seconds_call, timing.sm_clock_hz, timing.power_w}) {
        require(std::isfinite(amount) && amount >= 0, bad,
                "{} has a call time of {} s, a clock of {} Hz and a power of {} W; each must be a "
                "finite number, not negative",
                name, timing.seconds_call, timing.sm_clock_hz, timing.power_w);
    }
    require(timing.samples >= 1 && timing.disturbed >= 0, bad,
            "{} has {} samples and {} disturbed ones; at least 1 must count", name, timing.samples,
            timing.disturbed);
    m.seconds_call = timing.seconds_call > 0 ? timing.seconds_call : m.seconds_median;
    m.sm_clock_hz = timing.sm_clock_hz;
    m.power_w = timing.power_w;
    m.samples = timing.samples;
    m.disturbed = timing.disturbed;
    m.unsettled = timing.unsettled != 0 || is_wide(m);
    m.settled = timing.settled != 0;
    m.throttled = timing.throttled != 0;
    m.disturbance.assign(timing.disturbance,
                         strnlen(timing.disturbance, sizeof(timing.disturbance)));
    return m;
}

}  // namespace raceline::api

extern "C" {

rl_status rl_time_contenders(const rl_contender* contenders, int64_t count, int32_t place,
                             const rl_timing_options* options, rl_timing* results) {
    using namespace raceline;
    return api::guarded([&] {
        constexpr std::int64_t most = 1024;
        require(count >= 1 && count <= most, api::bad,
                "count is {}; there must be 1 to {} contenders", count, most);
        api::require_pointer(contenders, "contenders");
        api::require_pointer(results, "results");
        std::vector<Contender> all;
        for (const rl_contender& given : api::read_all(contenders, count, "contenders")) {
            api::require_pointer(given.name, "the name of a contender");
            const std::string name = given.name;
            all.push_back(
                {.name = name,
                 .enqueue = api::checked_call(given.enqueue, given.context, name, "a sample"),
                 .calls = given.calls,
                 .call = api::checked_call(given.call, given.context, name, "one call")});
        }
        const std::vector<rl_timing> wanted = api::read_all(results, count, "results");
        const auto found =
            api::time_at(api::place_of(place), all, api::read_timing_options(options));
        for (std::int64_t i = 0; i < count; ++i) {
            rl_timing timing = api::timing_of(found[static_cast<std::size_t>(i)]);
            timing.struct_size = wanted[static_cast<std::size_t>(i)].struct_size;
            api::write_struct(timing, api::element(results, i));
        }
    });
}

}  // extern "C"
