// SPDX-License-Identifier: Apache-2.0
// Runs a case on this machine's cores.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <vector>

#include "run/backend.hpp"
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

// Inputs with the outputs and scratch that one call needs.
struct CallSet {
    Inputs inputs;
    HostBuffer q, k, v, out, lse, scratch;
    AttentionArgs args;

    CallSet(const Workload& w, const InputOptions& options, std::size_t scratch_bytes)
        : inputs(make_inputs(w, options)),
          q(inputs.q.size()),
          k(inputs.k.size()),
          v(inputs.v.size()),
          out(static_cast<std::size_t>(static_cast<double>(inputs.out_elements) *
                                       bytes_of(w.out_dtype()))),
          lse(inputs.lse_elements * sizeof(float)),
          scratch(scratch_bytes) {
        std::copy(inputs.q.begin(), inputs.q.end(), static_cast<std::byte*>(q.data()));
        std::copy(inputs.k.begin(), inputs.k.end(), static_cast<std::byte*>(k.data()));
        std::copy(inputs.v.begin(), inputs.v.end(), static_cast<std::byte*>(v.data()));
        InputPointers at;
        at.q = q.data();
        at.k = k.data();
        at.v = w.mla ? k.data() : v.data();
        at.out = out.data();
        at.lse = static_cast<float*>(lse.data());
        at.sinks = inputs.sinks.empty() ? nullptr : inputs.sinks.data();
        const auto or_null = [](const auto& list) { return list.empty() ? nullptr : list.data(); };
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

    // Timing needs the copies alone; the gate compares with the originals.
    void drop_originals() {
        inputs.q = {};
        inputs.k = {};
        inputs.v = {};
    }
};

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(Device device) : device_(std::move(device)) {}
    [[nodiscard]] std::string_view name() const override { return "cpu"; }
    [[nodiscard]] const Device& device() const override { return device_; }

    Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                      const CaseOptions& options) override try {
        // Twice: outliers make a long tail of logits, but also let a few keys carry the answer, so
        // that a lost key elsewhere would go unseen; without them every key counts.
        Correctness verdict = check_once(kernel, tile, workload, options.seed, true);
        if (verdict.passed) {
            verdict =
                worse_of(verdict, check_once(kernel, tile, workload, options.seed + 1, false));
        }
        return verdict;
    } catch (const std::exception& error) {
        Correctness verdict;
        verdict.why = error.what();
        return verdict;
    }

    Measurement measure(const Kernel& kernel, int tile, const Workload& workload,
                        const CaseOptions& options) override {
        const std::size_t scratch = kernel.workspace(workload, tile, device_);
        std::vector<std::unique_ptr<CallSet>> sets;
        std::size_t allocated = 0;
        double touched = 0;
        // Cold: together the sets exceed twice the last-level cache, so that each call finds its
        // own inputs gone. Outliers and poison are the gate's business, not the clock's.
        const double enough = options.how.cold ? 2 * static_cast<double>(device_.llc_bytes) : 0;
        const auto most_bytes = static_cast<std::size_t>(device_.memory_bytes) / 8;
        do {
            sets.push_back(std::make_unique<CallSet>(
                workload,
                InputOptions{
                    .seed = options.seed + 1 + sets.size(), .outliers = false, .poison = false},
                scratch));
            sets.back()->drop_originals();
            allocated += sets.back()->bytes();
            // What a call touches, not what it could: under a window most of a cache is never read.
            touched += workload.bytes_q() + workload.bytes_kv() + workload.bytes_out();
        } while (touched <= enough && sets.size() < max_sets && allocated < most_bytes);
        return time_on_cpu([](int) {},
                           [&](int i) {
                               const CallSet& set =
                                   *sets[static_cast<std::size_t>(i) % sets.size()];
                               kernel.launch(set.args, tile, device_, set.scratch.data(), nullptr);
                           },
                           options.limits);
    }

private:
    Correctness check_once(const Kernel& kernel, int tile, const Workload& workload,
                           std::uint64_t seed, bool outliers) const {
        const CallSet set(workload, {.seed = seed, .outliers = outliers},
                          kernel.workspace(workload, tile, device_));
        kernel.launch(set.args, tile, device_, set.scratch.data(), nullptr);
        const auto* out = static_cast<const std::byte*>(set.out.data());
        const auto* lse = static_cast<const float*>(set.lse.data());
        return judge(workload, set.inputs, kernel.precision(workload), {out, set.out.bytes()},
                     {lse, set.inputs.lse_elements}, seed);
    }

    // Tiny shapes would need thousands of sets to fill the cache; beyond this many, what is left in
    // it is less than a call's own launch costs.
    static constexpr std::size_t max_sets = 256;
    Device device_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(Device device) {
    return std::make_unique<CpuBackend>(std::move(device));
}

}  // namespace raceline
