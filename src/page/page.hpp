// SPDX-License-Identifier: Apache-2.0
// Receipts as one HTML file that needs no network: data of rows and model, and the scripts of
// page/ that show them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/build_info.hpp"

namespace raceline {

struct PageRequest {
    std::vector<std::string> receipts;  ///< files of rows; two of them are also compared
    std::vector<std::string> indexes;   ///< of files that left the tree, for scorecard and ladder
    /// page/*, Vega's modules as vega/NAME.min.js, and page/model.js if the model was built.
    std::span<const build_info::EmbeddedFile> sources;
    std::span<const build_info::EmbeddedFile> ladder_sources;
    std::string made;  ///< when, RFC 3339 in UTC
};

/// What this build makes of receipt files, now; those called index.jsonl list files that left the
/// tree.
PageRequest page_request(const std::vector<std::string>& files);

struct Page {
    std::string html;
    std::size_t files = 0;             ///< receipt files that are on it
    std::size_t indexes = 0;           ///< indexes that are on it
    bool shows_something = false;      ///< a time, a comparison, a ceiling or a figure
    std::vector<std::string> refused;  ///< of each that is not, why, in a sentence
};

/// The whole page. What receipts lack is said on it; Error(io) is thrown for a file that cannot be
/// opened alone.
Page page_html(const PageRequest& request);

}  // namespace raceline
