// SPDX-License-Identifier: Apache-2.0
#include "report/docs_peers.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {

Compared settled_rows(DocsEvidence& evidence, const DocsBlock& block) {
    Compared all{evidence.samples(block), ""};
    std::erase_if(all.samples, [](const DocsSample& s) { return s.ratio <= 0; });
    const std::size_t unsettled =
        std::erase_if(all.samples, [](const DocsSample& s) { return !s.settled() || !s.passed; });
    require(!all.samples.empty(), Status::invalid_argument, "no settled comparison is left");
    if (unsettled > 0) {
        all.left_out = fmt::format(
            " Rows that are left out because a time is not settled (its interval is wider than a "
            "tenth of it): {}.",
            unsettled);
    }
    return all;
}

const Peer& peer_of(const DocsSample& sample) {
    if (!sample.peer) {
        fail(Status::invalid_argument, "the row of {} stands beside no peer",
             format_shape(sample.workload));
    }
    return *sample.peer;
}

std::string peer_title(const std::string& name) {
    static const std::map<std::string, std::string> titles{{"cudnn", "cuDNN"},
                                                           {"fa2", "FlashAttention-2"},
                                                           {"fa3", "FlashAttention-3"},
                                                           {"fa4", "FlashAttention-4"},
                                                           {"flashinfer", "FlashInfer"},
                                                           {"flashinfer_decode", "FlashInfer"},
                                                           {"xqa", "XQA"},
                                                           {"torch_cpu", "PyTorch"}};
    const auto found = titles.find(name);
    return found == titles.end() ? name : found->second;
}

std::vector<std::string> peers_of(const std::vector<DocsSample>& samples) {
    std::vector<std::string> peers;
    for (const DocsSample& sample : samples) {
        const std::string& name = peer_of(sample).name;
        if (std::find(peers.begin(), peers.end(), name) == peers.end()) {
            peers.push_back(name);
        }
    }
    return peers;
}

std::string version_in_words(const std::string& name, const std::string& version) {
    const std::size_t digits = std::min(version.find_first_not_of("0123456789"), version.size());
    if (name != "cudnn" || digits < 5) {
        return version;
    }
    const int number = std::stoi(version.substr(0, digits));
    return fmt::format("{}.{}.{}{}", number / 10000, number / 100 % 100, number % 100,
                       version.substr(digits));
}

std::string peer_versions(const std::vector<DocsSample>& samples) {
    std::string text;
    for (const std::string& name : peers_of(samples)) {
        const auto first = std::find_if(samples.begin(), samples.end(), [&](const DocsSample& s) {
            return peer_of(s).name == name;
        });
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", peer_title(name),
                            version_in_words(name, peer_of(*first).version));
    }
    return text;
}

double geometric_mean(const std::vector<double>& values) {
    require(!values.empty(), Status::invalid_argument, "a mean of no rows");
    double logarithms = 0;
    for (const double value : values) {
        logarithms += std::log(value);
    }
    return std::exp(logarithms / static_cast<double>(values.size()));
}

std::string mean_cell(const std::vector<double>& ratios) {
    return ratios.empty() ? "" : fmt::format("{:.2f}", geometric_mean(ratios));
}

}  // namespace raceline
