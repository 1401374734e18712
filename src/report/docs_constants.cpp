// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "report/docs_tables.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "support/words.hpp"
#include "tune/best_tile.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

struct Use {
    Constant constant;
    std::vector<std::string> kernels;
};

// In the suite's own type if the kernel takes it, else in 8 bits.
std::vector<Workload> served(const Kernel& kernel, const std::string& suite, const Device& device) {
    std::vector<Workload> workloads;
    for (const std::optional<DType> dtype : {std::optional<DType>{}, std::optional(DType::e4m3)}) {
        for (const Workload& workload : make_suite(suite, dtype).workloads) {
            if (workloads.size() < make_suite(suite).workloads.size() &&
                why_not(kernel, workload, device).empty()) {
                workloads.push_back(workload);
            }
        }
    }
    require(!workloads.empty(), Status::invalid_argument, "{} takes no workload of {} on {}",
            kernel.name, suite, device.id);
    return workloads;
}

void note_uses(std::vector<Use>& uses, const Kernel& kernel, const std::string& suite,
               const Device& device) {
    CaseOptions options;
    options.how = {.cold = true, .launch_path = "graph", .threads = 0};
    for (const Workload& workload : served(kernel, suite, device)) {
        const std::vector<int> best = select_tiles(kernel, "best", workload, device, options.how);
        const Case one{suite, &kernel, best.front(), workload, options};
        for (const Constant& constant : explain_case(one, device).constants) {
            if (constant.origin != Origin::calibrated) {
                continue;
            }
            auto at = std::find_if(uses.begin(), uses.end(),
                                   [&](const Use& use) { return use.constant == constant; });
            if (at == uses.end()) {
                at = uses.insert(at, {constant, {}});
            }
            const std::string name(kernel.name);
            if (std::find(at->kernels.begin(), at->kernels.end(), name) == at->kernels.end()) {
                at->kernels.push_back(name);
            }
        }
    }
}

}  // namespace

std::string docs_constants(const DocsBlock& block) {
    Device device = datasheet_device(block.at("device"));
    apply_committed_rates(device);
    std::vector<Use> uses;
    for (const std::string& name : words_of(block.at("kernels"))) {
        note_uses(uses, find_kernel(name), block.at("suite"), device);
    }
    TextTable table({{"constant"},
                     {"value", TextTable::Align::right},
                     {"without calibration", TextTable::Align::right},
                     {"kernels"},
                     {"fitted to, or read from"},
                     {"what stands in"}});
    for (const Use& use : uses) {
        std::string kernels;
        for (const std::string& kernel : use.kernels) {
            kernels += (kernels.empty() ? "`" : ", `") + kernel + "`";
        }
        table.add({std::string(use.constant.name), fmt::format("{:.4g}", use.constant.value),
                   fmt::format("{:.4g}", use.constant.stand_in), kernels,
                   std::string(use.constant.source), std::string(use.constant.stand_in_source)});
    }
    return fmt::format(
        "*Calibrated constants of the model's tile for each shape of `{}` on {}: {}.*\n\n{}",
        block.at("suite"), device.name, uses.size(), table.markdown());
}

std::string docs_block(DocsEvidence& evidence, const DocsBlock& block) {
    using Writer = std::string (*)(DocsEvidence&, const DocsBlock&);
    static const std::map<std::string, Writer> tables{
        {"comparison", docs_comparison},
        {"lengths", docs_lengths},
        {"forms", docs_forms},
        {"errors", docs_errors},
        {"rates", docs_rates},
        {"cases", docs_cases},
        {"accuracy", docs_accuracy},
        {"copy-share", docs_copy_share},
        {"scorecard", docs_scorecard},
        {"answer", [](DocsEvidence&, const DocsBlock& b) { return docs_answer(b); }},
        {"bytes", [](DocsEvidence&, const DocsBlock& b) { return docs_bytes(b); }},
        {"published", [](DocsEvidence& e, const DocsBlock&) { return docs_published(e); }},
        {"constants", [](DocsEvidence&, const DocsBlock& b) { return docs_constants(b); }}};
    if (block.kind == "value") {
        return docs_value(evidence, block);
    }
    const auto found = tables.find(block.kind);
    require(found != tables.end(), Status::invalid_argument,
            "there is no kind of block '{}'; it must be comparison, lengths, forms, errors, rates, "
            "cases, accuracy, copy-share, scorecard, constants, answer, bytes, output, published, "
            "or, in a "
            "sentence, value",
            block.kind);
    return "\n" + found->second(evidence, block);
}

}  // namespace raceline
