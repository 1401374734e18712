// SPDX-License-Identifier: Apache-2.0
// Devices found once and decisions made once: what keeps a call's own cost small.
#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "support/check.hpp"
#include "support/rounding.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::api {
namespace {

const std::optional<Device>& whole_device(Place place) {
    if (place == Place::cpu) {
        static const std::optional<Device> cpu = [] {
            Device device = live_cpu();
            apply_committed_rates(device);
            return device;
        }();
        return cpu;
    }
    static const std::optional<Device> cuda = [] {
        std::optional<Device> device = live_cuda();
        if (device) {
            apply_committed_rates(*device);
        }
        return device;
    }();
    return cuda;
}

// Everything that a decision may depend on, as numbers.
using Key = std::array<std::int64_t, 20>;

struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
        std::uint64_t hash = 0;
        for (const std::int64_t part : key) {
            // Multiply and rotate by odd constants: enough to spread small integers.
            hash = std::rotl((hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u, 29);
        }
        return static_cast<std::size_t>(hash);
    }
};

std::int64_t mean_length(std::int64_t tokens, std::int64_t batch) {
    return batch == 0 ? 0 : rounded_size(divide_up(tokens, batch));
}

std::int64_t backend_number(std::string_view backend) {
    if (backend.empty()) {
        return -1;
    }
    return &find_kernel(backend) - all_kernels().data();
}

Key key_of(const Workload& w, Place place, int threads, std::string_view backend) {
    const Window window = w.window.value_or(Window{});
    const bool ragged = w.ragged();
    return {static_cast<std::int64_t>(place),
            threads,
            backend_number(backend),
            rounded_size(w.batch),
            w.heads_q,
            w.heads_kv,
            rounded_size(w.seqlen_q),
            rounded_size(w.seqlen_k),
            ragged ? mean_length(w.tokens_q(), w.batch) : -1,
            ragged ? mean_length(w.tokens_k(), w.batch) : -1,
            w.headdim,
            w.headdim_v,
            static_cast<std::int64_t>(w.dtype) * 16 + static_cast<std::int64_t>(w.kv_dtype),
            static_cast<std::int64_t>(w.mask) + 2 * static_cast<std::int64_t>(w.accuracy),
            window.left,
            window.right,
            w.softcap > 0 ? 1 : 0,
            (w.sinks ? 1 : 0) + (w.tree != 0 ? 2 : 0) + (w.has_token_scales() ? 4 : 0),
            w.page_size,
            w.mla ? 1 : 0};
}

// One sequence of the longest length, the others sharing the rest evenly.
std::vector<std::int64_t> typical_lengths(std::int64_t batch, std::int64_t longest,
                                          std::int64_t mean) {
    const std::int64_t others = batch > 1 ? (mean * batch - longest) / (batch - 1) : 0;
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch),
                                      std::clamp<std::int64_t>(others, 0, longest));
    lengths.front() = longest;
    return lengths;
}

/// A workload without lists of lengths, to the last digit: two calls that differ in nothing have
/// one of these, as layers of a model do.
struct ExactKey {
    Key shape;
    std::array<std::int64_t, 3> sizes;  ///< those that `shape` rounds
    double softcap, scale;
    bool operator==(const ExactKey&) const = default;
};

ExactKey exact_key_of(const Workload& w, const Key& shape) {
    return {shape, {w.batch, w.seqlen_q, w.seqlen_k}, w.softcap, w.scale.value_or(0)};
}

/// What this thread's last calls were decided to be. Whether a kernel serves a workload takes as
/// long to find out as a launch does, so that a call is not asked twice.
class RecentCalls {
public:
    static RecentCalls& of_this_thread() {
        thread_local RecentCalls calls;
        return calls;
    }
    [[nodiscard]] const EngineChoice* find(const ExactKey& key) const {
        for (const Entry& entry : entries_) {
            if (entry.choice.kernel != nullptr && entry.key == key) {
                return &entry.choice;
            }
        }
        return nullptr;
    }
    void keep(const ExactKey& key, const EngineChoice& choice) {
        entries_[next_] = {key, choice};
        next_ = (next_ + 1) % entries_.size();
    }

private:
    struct Entry {
        ExactKey key;
        EngineChoice choice{nullptr, 0, nullptr};
    };
    std::array<Entry, 4> entries_;
    std::size_t next_ = 0;
};

class Decisions {
public:
    std::optional<EngineChoice> find(const Key& key) const {
        const std::shared_lock lock(mutex_);
        const auto found = decisions_.find(key);
        return found == decisions_.end() ? std::nullopt : std::optional(found->second);
    }
    void keep(const Key& key, const EngineChoice& choice) {
        const std::unique_lock lock(mutex_);
        // Forgetting all costs little: a decision made again is the same decision.
        if (decisions_.size() >= most) {
            decisions_.clear();
        }
        decisions_.emplace(key, choice);
    }

private:
    static constexpr std::size_t most = 4096;
    mutable std::shared_mutex mutex_;
    std::unordered_map<Key, EngineChoice, KeyHash> decisions_;
};

bool serves(const EngineChoice& choice, const Workload& workload, const Device& device) {
    return why_not(*choice.kernel, workload, choice.tile, device).empty();
}

// What the representative gets, if that serves the workload too: only this may be remembered.
std::optional<EngineChoice> shared_choice(const Workload& workload, const Device& device,
                                          int threads, const Candidates& candidates) {
    try {
        const EngineChoice choice =
            choose_engine(representative(workload), device, threads, candidates);
        return serves(choice, workload, device) ? std::optional(choice) : std::nullopt;
    } catch (const Error& error) {
        if (error.status() != Status::unsupported) {
            throw;
        }
        return std::nullopt;
    }
}

}  // namespace

std::int64_t rounded_size(std::int64_t size) {
    if (size <= 16) {
        return size;
    }
    const auto dropped = std::bit_width(static_cast<std::uint64_t>(size - 1)) - 4;
    const std::int64_t step = std::int64_t{1} << dropped;
    return std::min<std::int64_t>(round_up(size, step), std::numeric_limits<std::int32_t>::max());
}

Workload representative(const Workload& workload) {
    Workload typical = workload;
    typical.scale.reset();
    typical.softcap = workload.softcap > 0 ? 1 : 0;
    typical.batch = rounded_size(workload.batch);
    typical.seqlen_q = rounded_size(workload.seqlen_q);
    typical.seqlen_k = rounded_size(workload.seqlen_k);
    if (workload.ragged()) {
        typical.seqlens_q = typical_lengths(typical.batch, typical.seqlen_q,
                                            mean_length(workload.tokens_q(), workload.batch));
        typical.seqlens_k = typical_lengths(typical.batch, typical.seqlen_k,
                                            mean_length(workload.tokens_k(), workload.batch));
    }
    return typical;
}

const Device& device_of(Place place, int threads) {
    require(place == Place::cpu || place == Place::cuda, Status::invalid_argument,
            "place is {}; it must be 0 (cpu) or 1 (cuda)", static_cast<int>(place));
    require(threads >= 0 && threads <= most_threads, Status::invalid_argument,
            "threads is {}; it must be 0 (all) to {}", threads, most_threads);
    const std::optional<Device>& whole = whole_device(place);
    if (!whole) {
        fail(Status::no_device,
             "place is cuda, but no CUDA device was found or raceline was built without CUDA; cpu "
             "would be accepted");
    }
    if (place == Place::cuda || threads == 0 || threads == whole->units) {
        return *whole;
    }
    // Nodes of a map never move, and thread counts are few.
    static std::shared_mutex mutex;
    static std::map<int, Device> restricted;
    {
        const std::shared_lock lock(mutex);
        const auto found = restricted.find(threads);
        if (found != restricted.end()) {
            return found->second;
        }
    }
    const std::unique_lock lock(mutex);
    return restricted.try_emplace(threads, restrict_units(*whole, threads)).first->second;
}

EngineChoice decide_engine(const Workload& workload, const Device& device, int threads,
                           const Candidates& candidates) {
    const auto shared = shared_choice(workload, device, threads, candidates);
    // A limit lies between the workload and its rounded sizes: ask about the very workload.
    return shared ? *shared : choose_engine(workload, device, threads, candidates);
}

namespace {

EngineChoice known_or_chosen(const Workload& workload, const Device& device, int threads,
                             std::string_view backend, const Key& key) {
    static Decisions decisions;
    if (const auto known = decisions.find(key); known && serves(*known, workload, device)) {
        return *known;
    }
    const Candidates candidates{.backend = backend};
    if (const auto shared = shared_choice(workload, device, threads, candidates)) {
        decisions.keep(key, *shared);
        return *shared;
    }
    return choose_engine(workload, device, threads, candidates);
}

}  // namespace

EngineChoice remembered_combine(const CombineCall& call, Place place, int threads) {
    static Decisions decisions;
    constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();  // times heads
    const std::int64_t parts = rounded_size(call.parts);
    const std::int64_t rows = std::min(rounded_size(call.rows), most_rows / call.heads);
    const std::int64_t d = std::max<std::int64_t>(1, call.headdim);
    const int sinks = call.sinks != nullptr ? 1 : 0;
    const Key key{
        static_cast<std::int64_t>(place),           threads, parts, rows, call.heads, d, sinks,
        static_cast<std::int64_t>(call.parts_dtype)};
    if (const auto known = decisions.find(key)) {
        return *known;
    }
    const Workload typical =
        parse_shape(fmt::format("op=combine,parts={},rows={},heads={},d={},sinks={},dtype={}",
                                parts, rows, call.heads, d, sinks, name_of(call.parts_dtype)));
    const EngineChoice choice =
        choose_engine(typical, device_of(place, threads), threads, Candidates{});
    decisions.keep(key, choice);
    return choice;
}

EngineChoice remembered_engine(const Workload& workload, Place place, int threads,
                               std::string_view backend) {
    const Device& device = device_of(place, threads);
    const Key key = key_of(workload, place, threads, backend);
    if (workload.ragged()) {
        return known_or_chosen(workload, device, threads, backend, key);
    }
    RecentCalls& recent = RecentCalls::of_this_thread();
    const ExactKey exact = exact_key_of(workload, key);
    if (const EngineChoice* const same = recent.find(exact)) {
        return *same;
    }
    const EngineChoice choice = known_or_chosen(workload, device, threads, backend, key);
    recent.keep(exact, choice);
    return choice;
}

}  // namespace raceline::api
