// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "report/docs_tables.hpp"
#include "report/scorecard_text.hpp"
#include "support/check.hpp"
#include "support/words.hpp"

namespace raceline {
// No file is chosen here: all that are committed count, and what the index keeps of the others.
const Scorecard& DocsEvidence::scorecard() {
    if (!scorecard_) {
        Scorecard card;
        card.add_tree(root_ + "/receipts");
        require(card.broken().empty(), Status::corrupt, "{}",
                card.broken().empty() ? "" : finding_text(card.broken().front()));
        scorecard_ = std::move(card);
    }
    return *scorecard_;
}

std::string docs_scorecard(DocsEvidence& evidence, const DocsBlock& block) {
    if (const std::string names = block.get("suites"); !names.empty()) {
        const std::vector<std::string> suites = words_of(names);
        Scorecard card = evidence.scorecard();
        card.keep_suites({suites.begin(), suites.end()});
        require(!card.scores().empty(), Status::invalid_argument,
                "no committed row is of a suite named {}", names);
        return fmt::format("*Rows of {} alone, in all committed receipts and the index.*\n\n{}",
                           names, scorecard_text(card, TableForm::markdown));
    }
    const std::string part = block.get("part"), kernel = block.get("kernel");
    if (!part.empty() || !kernel.empty()) {
        return scorecard_part(evidence.scorecard(), part, kernel);
    }
    return "*All committed receipts and the index of those that left the tree, of every commit, as "
           "predictions stood before each run, hits and misses alike. A comparison's times are in "
           "no "
           "figure.*\n\n" +
           scorecard_text(evidence.scorecard(), TableForm::markdown);
}

std::string docs_worst_first_sight(DocsEvidence& evidence) {
    std::string sentence = worst_at_first_sight(evidence.scorecard());
    while (sentence.ends_with('\n') || sentence.ends_with('.')) {
        sentence.pop_back();
    }
    return sentence;
}

}  // namespace raceline
