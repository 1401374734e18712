// SPDX-License-Identifier: Apache-2.0
// Runs a case on this machine's cores.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <numeric>
#include <sys/mman.h>
#include <vector>

#include "run/backend.hpp"
#include "run/draw_cache.hpp"
#include "run/operation_gate.hpp"
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

bool same_bytes(const HostBuffer& a, const HostBuffer& b) {
    return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

void copy_to(const HostBuffer& to, const std::vector<std::byte>& from) {
    std::copy(from.begin(), from.end(), static_cast<std::byte*>(to.data()));
}

// Memory of one call: inputs of its own, poisoned outputs and scratch.
struct CallSet {
    HostBuffer q, k, v, out, lse, scratch;
    AttentionCall args;

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
        InputPointers at = pointers_into(inputs);
        at.q = q.data();
        at.k = k.data();
        at.v = w.mla ? k.data() : v.data();
        at.out = out.data();
        at.lse = static_cast<float*>(lse.data());
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
        return same_bytes(out, other.out) && same_bytes(lse, other.lse);
    }
};

// One draw of a workload's inputs, with the answers that every tile judged on it shares.
struct HostDraw {
    Inputs inputs;
    GateAnswers answers;

    HostDraw(const Workload& w, std::uint64_t seed, Draw draw)
        : inputs(make_inputs(w, {.seed = seed, .draw = draw})), answers(w, inputs, seed, draw) {}
    HostDraw(HostDraw&&) = delete;

    [[nodiscard]] std::unique_ptr<CallSet> set(std::size_t scratch_bytes) const {
        return std::make_unique<CallSet>(answers.workload(), inputs, scratch_bytes);
    }
    Correctness judge(const Precision& precision, const CallSet& set) {
        return raceline::judge(answers, precision,
                               {static_cast<const std::byte*>(set.out.data()), set.out.bytes()},
                               {static_cast<const float*>(set.lse.data()), inputs.lse_elements});
    }
};

// The same of another operation than attention.
struct HostOperationSet {
    const OperationData& inputs;
    std::deque<HostBuffer> tensors;
    HostBuffer scratch;
    OperationArgs args;

    HostOperationSet(const OperationAnswers& answers, std::size_t scratch_bytes)
        : inputs(answers.inputs()), scratch(scratch_bytes) {
        std::vector<void*> addresses;
        for (std::size_t i = 0; i < inputs.tensors.size(); ++i) {
            const HostBuffer& tensor = tensors.emplace_back(inputs.tensors[i].bytes());
            tensor.poison();
            copy_to(tensor, inputs.data[i]);
            addresses.push_back(tensor.data());
        }
        args = make_operation_args(answers.workload(), addresses);
        scratch.poison();
    }
    HostOperationSet(HostOperationSet&&) = delete;

    [[nodiscard]] std::size_t bytes() const {
        return std::accumulate(
            tensors.begin(), tensors.end(), std::size_t{0},
            [](std::size_t sum, const HostBuffer& one) { return sum + one.bytes(); });
    }
    [[nodiscard]] std::vector<std::span<const std::byte>> outputs() const {
        std::vector<std::span<const std::byte>> list;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (inputs.tensors[i].output) {
                list.emplace_back(static_cast<const std::byte*>(tensors[i].data()),
                                  tensors[i].bytes());
            }
        }
        return list;
    }
    [[nodiscard]] bool same_outputs(const HostOperationSet& other) const {
        return std::ranges::equal(outputs(), other.outputs(), [](const auto& a, const auto& b) {
            return std::ranges::equal(a, b);
        });
    }
};

struct HostOperation {
    OperationAnswers answers;

    HostOperation(const Workload& w, std::uint64_t seed, Draw draw) : answers(w, seed, draw) {}
    HostOperation(HostOperation&&) = delete;

    [[nodiscard]] std::unique_ptr<HostOperationSet> set(std::size_t scratch_bytes) const {
        return std::make_unique<HostOperationSet>(answers, scratch_bytes);
    }
    Correctness judge(const Precision& precision, const HostOperationSet& set) {
        return answers.judge(precision, set.outputs());
    }
};

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(Device device)
        : device_(std::move(device)), draws_(static_cast<double>(device_.memory_bytes) / 8) {}
    [[nodiscard]] std::string_view name() const override { return "cpu"; }
    [[nodiscard]] const Device& device() const override { return device_; }

    Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                      const CaseOptions& options) override {
        return draws_.serve(
            kernel, [&](auto& draws) { return check_on(draws, kernel, tile, workload, options); });
    }

    Timed measure(const Kernel& kernel, int tile, const Workload& workload,
                  const CaseOptions& options) override {
        return draws_.serve(kernel, [&](auto& draws) {
            return measure_on(draws, kernel, tile, workload, options);
        });
    }

private:
    template <class Drawn>
    Correctness check_on(DrawCache<Drawn>& draws, const Kernel& kernel, int tile,
                         const Workload& workload, const CaseOptions& options) const {
        return check_draws(options, workload, [&](Draw draw) {
            Drawn& drawn = draws.of(workload, options.seed, draw, seed_of(options, draw));
            const auto set = drawn.set(kernel.workspace(workload, tile, device_));
            kernel.enqueue(set->args, tile, device_, set->scratch.data(), nullptr);
            return drawn.judge(kernel.precision(workload), *set);
        });
    }

    template <class Drawn>
    Timed measure_on(DrawCache<Drawn>& draws, const Kernel& kernel, int tile,
                     const Workload& workload, const CaseOptions& options) const {
        Drawn& drawn = draws.of(workload, options.seed, Draw::plain, seed_of(options, Draw::plain));
        const auto sets = timed_sets(workload, drawn, kernel.workspace(workload, tile, device_),
                                     options.how.cold);
        std::vector<bool> used(sets.size(), false);
        Timed timed;
        std::size_t at = sets.size() - 1;  // the set in turn: the first call takes the first
        const Contender launch{
            .name = std::string(kernel.name),
            .enqueue =
                [&](void*) {
                    const auto& set = *sets[at];
                    kernel.enqueue(set.args, tile, device_, set.scratch.data(), nullptr);
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
        const Precision precision = kernel.precision(workload);
        timed.outputs = check_draws(plain, workload, [&](Draw) {
            Correctness verdict = drawn.judge(precision, *sets.front());
            // All sets hold the same numbers: what is equal to the bit needs no second verdict.
            for (std::size_t i = 1; i < sets.size() && verdict.passed; ++i) {
                if (used[i] && !sets[i]->same_outputs(*sets.front())) {
                    verdict = worse_of(verdict, drawn.judge(precision, *sets[i]));
                }
            }
            return verdict;
        });
        return timed;
    }

    // Cold: together the sets exceed twice the last-level cache, so that each call finds its own
    // inputs gone. They hold the same numbers at other addresses.
    template <class Drawn>
    [[nodiscard]] auto timed_sets(const Workload& workload, const Drawn& drawn, std::size_t scratch,
                                  bool cold) const {
        std::vector<decltype(drawn.set(scratch))> sets;
        std::size_t allocated = 0;
        double touched = 0;
        const double enough = cold ? 2 * static_cast<double>(device_.llc_bytes) : 0;
        const auto most_bytes = static_cast<std::size_t>(device_.memory_bytes) / 8;
        do {
            sets.push_back(drawn.set(scratch));
            allocated += sets.back()->bytes();
            // What a call touches, not what it could: under a window most of a cache is never read.
            touched += workload.bytes_read() + workload.bytes_written();
        } while (touched <= enough && sets.size() < max_sets && allocated < most_bytes);
        return sets;
    }

    // Tiny shapes would need thousands of sets to fill the cache; beyond this many, what is left in
    // it is less than a call's own launch costs.
    static constexpr std::size_t max_sets = 256;
    Device device_;
    // All kinds of inputs of one workload, unless they are large.
    Draws<HostDraw, HostOperation> draws_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Device device) {
    return std::make_unique<CpuBackend>(std::move(device));
}

}  // namespace raceline
