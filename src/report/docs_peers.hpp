// SPDX-License-Identifier: Apache-2.0
// What tables beside other libraries share.
#pragma once

#include <string>
#include <vector>

#include "report/docs_evidence.hpp"

namespace raceline {

struct Compared {
    std::vector<DocsSample> samples;
    std::string left_out;  ///< how many rows are not among them, in a sentence; empty: none
};

/// Settled comparisons of calls that our kernel answered right. Throws if there is none.
Compared settled_rows(DocsEvidence& evidence, const DocsBlock& block);

/// Of a row that stands beside a peer, as each of `settled_rows` does. Throws of any other.
const Peer& peer_of(const DocsSample& sample);

std::string peer_title(const std::string& name);  ///< "fa3" is FlashAttention-3
/// cuDNN gives its version as one number: "91900 in PyTorch" is "9.19.0 in PyTorch".
std::string version_in_words(const std::string& name, const std::string& version);
/// In the order of their first rows.
std::vector<std::string> peers_of(const std::vector<DocsSample>& samples);
/// Titles and versions of all peers, separated by commas.
std::string peer_versions(const std::vector<DocsSample>& samples);

double geometric_mean(const std::vector<double>& values);  ///< throws if empty
/// With two decimals; empty of no ratios.
std::string mean_cell(const std::vector<double>& ratios);

}  // namespace raceline
