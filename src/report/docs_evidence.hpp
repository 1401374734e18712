// SPDX-License-Identifier: Apache-2.0
// The receipt rows that generated parts of pages are made of. docs/evidence.json names the files.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "receipt/rows.hpp"
#include "report/docs_page.hpp"
#include "report/scorecard.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// One timed or judged case of a file, with what was predicted for it before.
struct DocsSample {
    RowCase about;
    Workload workload;
    std::optional<Measurement> measured;  ///< ours; none: judged only
    std::optional<Prediction> prediction;
    std::string bound_limiter;  ///< of the problem's bound; empty: its prediction has none
    bool passed = false;
    double relative_rms = 0;  ///< of our output; 0: not known
    double bound = 0;         ///< on it
    std::string logits;       ///< kind of inputs, of errors beside a peer
    std::optional<Peer> peer;
    double peer_rms = 0;  ///< of the peer's output; 0: not known
    double ratio = 0;     ///< peer's time / ours; 0: there is no peer
    double copy = 0;      ///< the device's copy ceiling as its file has it, bytes a second; 0: none
    // Where it comes from.
    std::string file, kind, commit, written, date, regime, spread;
    bool changed = false;  ///< the code that ran is no longer this build's

    [[nodiscard]] bool settled() const;
};

class DocsEvidence {
public:
    /// Reads `root`/docs/evidence.json, an object of names and files, and the manifest of receipts.
    explicit DocsEvidence(std::string root);

    /// Rows of the kinds measurement, comparison and check of the files that `block`'s argument
    /// `source` names, separated by commas, as far as its arguments kernel, peer, dtype, mask, d
    /// and q, where it has them, agree. Throws Error naming name, file and row: a name or file that
    /// is not there, a file that is not in the manifest or that `report --check` refuses, dirty
    /// rows, and a choice that leaves no row.
    [[nodiscard]] std::vector<DocsSample> samples(const DocsBlock& block,
                                                  const std::string& source = "from");

    [[nodiscard]] const std::string& root() const { return root_; }
    /// All committed receipts and the index of those that left the tree; read once. Throws
    /// Error(corrupt) if a row is broken.
    [[nodiscard]] const Scorecard& scorecard();

private:
    const std::vector<DocsSample>& file(const std::string& name);
    std::string root_;
    std::map<std::string, std::string> files_;             ///< by name
    std::map<std::string, std::vector<DocsSample>> read_;  ///< by name
    std::optional<Scorecard> scorecard_;
};

/// What stands over a table: device, suite, commit, date and regime of all samples. Throws
/// Error(invalid_argument) if they are of several devices or several regimes, or some are judged
/// under another spread of logits: such figures are not to be compared.
std::string docs_heading(std::span<const DocsSample> samples);

/// "measured at COMMIT, DATE; the code has changed since" where it has; else empty.
std::string docs_age(std::span<const DocsSample> samples);

}  // namespace raceline
