// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "report/docs_tables.hpp"
#include "report/ladder_verdict.hpp"
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

std::string docs_first_sight(DocsEvidence& evidence) {
    struct Count {
        std::size_t rows = 0, hits = 0;
        [[nodiscard]] double percent() const {
            return rows == 0 ? 0 : 100.0 * static_cast<double>(hits) / static_cast<double>(rows);
        }
    } first, seen;
    for (const ScoredRow& row : evidence.scorecard().scored_rows()) {
        Count& count = row.group.sight == Sight::seen ? seen : first;
        ++count.rows;
        count.hits += time_hit(row.seconds, row.measured) ? 1 : 0;
    }
    return fmt::format(
        "of {} rows at first sight {:.0f} % are within 20 % of the measured time, of {} that had "
        "been seen before {:.0f} %",
        first.rows, first.percent(), seen.rows, seen.percent());
}

}  // namespace raceline
