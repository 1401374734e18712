// SPDX-License-Identifier: Apache-2.0
// Runs a case on this machine's cores.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <sys/mman.h>
#include <vector>

#include "run/backend.hpp"
#include "timing/contenders.hpp"
#include "workload/inputs.hpp"

namespace raceline {
namespace {

// Memory that is not touched before the first write, so that the threads that use it decide where
// it lives. On huge pages where the system grants them, as the DRAM probe reads: the ceiling and
// the kernel under it must see the same pages.
class HostBuffer {
public:
    explicit HostBuffer(std::size_t bytes)
        : bytes_(bytes), data_(::operator new(std::max<std::size_t>(bytes, 1), alignment)) {
#ifdef MADV_HUGEPAGE
        const std::size_t whole = bytes / huge_page * huge_page;
        if (whole > 0) {
            madvise(data_, whole, MADV_HUGEPAGE);  // advice: small pages only read slower
        }
#endif
    }
    HostBuffer(const HostBuffer&) = delete;
    HostBuffer& operator=(const HostBuffer&) = delete;
    ~HostBuffer() { ::operator delete(data_, alignment); }
    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void poison() const { std::memset(data_, output_poison, bytes_); }

private:
    static constexpr std::size_t huge_page = std::size_t{2} << 20U;
    static constexpr std::align_val_t alignment{huge_page};
    std::size_t bytes_;
    void* data_;
};

void copy_to(const HostBuffer& to, const std::vector<std::byte>& from) {
    std::copy(from.begin(), from.end(), static_cast<std::byte*>(to.data()));
}

// Memory of one call: inputs of its own, poisoned outputs and scratch.
struct CallSet {
    HostBuffer q, k, v, out, lse, scratch;
    AttentionArgs args;

    CallSet(const Workload& w, const Inputs& inputs, std::size_t scratch_bytes)
        : q(inputs.q.size()),
          k(inputs.k.size()),
          v(inputs.v.size()),
          out(static_cast<std::size_t>(static_cast<double>(inputs.out_elements) *
                                       bytes_of(w.out_dtype()))),
          lse(inputs.lse_elements * sizeof(float)),
          scratch(scratch_bytes) {
        copy_to(q, inputs.q);
        copy_to(k, inputs.k);
        copy_to(v, inputs.v);
        InputPointers at;
        at.q = q.data();
        at.k = k.data();
        at.v = w.mla ? k.data() : v.data();
        at.out = out.data();
        at.lse = static_cast<float*>(lse.data());
        const auto or_null = [](const auto& list) { return list.empty() ? nullptr : list.data(); };
        at.sinks = or_null(inputs.sinks);
        at.cu_seqlens_q = or_null(inputs.cu_seqlens_q);
        at.cu_seqlens_k = or_null(inputs.cu_seqlens_k);
        at.seqlens_k = or_null(inputs.seqlens_k);
        at.block_table = or_null(inputs.block_table);
        at.k_scale = or_null(inputs.k_scale);
        at.v_scale = or_null(inputs.v_scale);
        at.q_scale = or_null(inputs.q_scale);
        args = make_args(w, inputs, at);
        out.poison();
        lse.poison();
        scratch.poison();
    }
    CallSet(CallSet&&) = delete;

    [[nodiscard]] std::size_t bytes() const {
        return q.bytes() + k.bytes() + v.bytes() + out.bytes();
    }
    [[nodiscard]] bool same_outputs(const CallSet& other) const {
        return std::memcmp(out.data(), other.out.data(), out.bytes()) == 0 &&
               std::memcmp(lse.data(), other.lse.data(), lse.bytes()) == 0;
    }
};

// One draw of a workload's inputs, with the answers that every tile judged on it shares.
struct HostDraw {
    Inputs inputs;
    GateAnswers answers;

    HostDraw(const Workload& w, std::uint64_t seed, Draw draw)
        : inputs(make_inputs(w, {.seed = seed, .draw = draw})), answers(w, inputs, seed, draw) {}
    HostDraw(HostDraw&&) = delete;
};

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(Device device) : device_(std::move(device)) {}
    [[nodiscard]] std::string_view name() const override { return "cpu"; }
    [[nodiscard]] const Device& device() const override { return device_; }

    Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                      const CaseOptions& options) override {
        return check_draws(options, [&](Draw draw) {
            HostDraw& drawn = draw_of(workload, options, draw);
            const CallSet set(workload, drawn.inputs, kernel.workspace(workload, tile, device_));
            kernel.launch(set.args, tile, device_, set.scratch.data(), nullptr);
            return verdict_on(kernel, drawn, set);
        });
    }

    Timed measure(const Kernel& kernel, int tile, const Workload& workload,
                  const CaseOptions& options) override {
        HostDraw& drawn = draw_of(workload, options, Draw::plain);
        const auto sets = timed_sets(workload, drawn.inputs,
                                     kernel.workspace(workload, tile, device_), options.how.cold);
        std::vector<bool> used(sets.size(), false);
        Timed timed;
        std::size_t at = sets.size() - 1;  // the set in turn: the first call takes the first
        const Contender launch{
            .name = std::string(kernel.name),
            .enqueue =
                [&](void*) {
                    const CallSet& set = *sets[at];
                    kernel.launch(set.args, tile, device_, set.scratch.data(), nullptr);
                },
            .prepare =
                [&] {
                    at = (at + 1) % sets.size();
                    used[at] = true;
                },
        };
        timed.measurement =
            time_on_cpu({&launch, 1}, {.limits = options.limits, .regime = options.how.regime})
                .front();
        CaseOptions plain = options;
        plain.draws = {Draw::plain};
        timed.outputs = check_draws(plain, [&](Draw) {
            Correctness verdict = verdict_on(kernel, drawn, *sets.front());
            // All sets hold the same numbers: what is equal to the bit needs no second verdict.
            for (std::size_t i = 1; i < sets.size() && verdict.passed; ++i) {
                if (used[i] && !sets[i]->same_outputs(*sets.front())) {
                    verdict = worse_of(verdict, verdict_on(kernel, drawn, *sets[i]));
                }
            }
            return verdict;
        });
        return timed;
    }

private:
    // Cold: together the sets exceed twice the last-level cache, so that each call finds its own
    // inputs gone. They hold the same numbers at other addresses.
    [[nodiscard]] std::vector<std::unique_ptr<CallSet>> timed_sets(const Workload& workload,
                                                                   const Inputs& inputs,
                                                                   std::size_t scratch,
                                                                   bool cold) const {
        std::vector<std::unique_ptr<CallSet>> sets;
        std::size_t allocated = 0;
        double touched = 0;
        const double enough = cold ? 2 * static_cast<double>(device_.llc_bytes) : 0;
        const auto most_bytes = static_cast<std::size_t>(device_.memory_bytes) / 8;
        do {
            sets.push_back(std::make_unique<CallSet>(workload, inputs, scratch));
            allocated += sets.back()->bytes();
            // What a call touches, not what it could: under a window most of a cache is never read.
            touched += workload.bytes_q() + workload.bytes_kv() + workload.bytes_out();
        } while (touched <= enough && sets.size() < max_sets && allocated < most_bytes);
        return sets;
    }

    static Correctness verdict_on(const Kernel& kernel, HostDraw& drawn, const CallSet& set) {
        const auto* out = static_cast<const std::byte*>(set.out.data());
        const auto* lse = static_cast<const float*>(set.lse.data());
        return judge(drawn.answers, kernel.precision(drawn.answers.workload()),
                     {out, set.out.bytes()}, {lse, drawn.inputs.lse_elements});
    }

    // Every tile of one workload sees the same draws: they are made once. Those of one workload at
    // a time are kept, which bounds the memory.
    HostDraw& draw_of(const Workload& workload, const CaseOptions& options, Draw draw) {
        if (!drawn_for_ || !(*drawn_for_ == workload) || drawn_seed_ != options.seed) {
            drawn_.clear();  // before the workload that they refer to
            drawn_for_ = workload;
            drawn_seed_ = options.seed;
        }
        return drawn_.try_emplace(draw, *drawn_for_, seed_of(options, draw), draw).first->second;
    }

    // Tiny shapes would need thousands of sets to fill the cache; beyond this many, what is left in
    // it is less than a call's own launch costs.
    static constexpr std::size_t max_sets = 256;
    Device device_;
    std::optional<Workload> drawn_for_;
    std::uint64_t drawn_seed_ = 0;
    std::map<Draw, HostDraw> drawn_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Device device) {
    return std::make_unique<CpuBackend>(std::move(device));
}

}  // namespace raceline
