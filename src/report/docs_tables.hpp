// SPDX-License-Identifier: Apache-2.0
// The kinds of generated parts in README.md and docs/*.md, each from receipt rows.
#pragma once

#include <string>

#include "report/docs_evidence.hpp"

namespace raceline {

/// Peers' times over ours: geometric means by head dim and mask, of all, the least, and errors.
std::string docs_comparison(DocsEvidence& evidence, const DocsBlock& block);
/// The same of each length, without means.
std::string docs_lengths(DocsEvidence& evidence, const DocsBlock& block);
/// Libraries with several forms of one call (PyTorch on a CPU): a column for each form.
std::string docs_forms(DocsEvidence& evidence, const DocsBlock& block);
/// Our relative RMS error over a peer's, of calls that were judged and not timed.
std::string docs_errors(DocsEvidence& evidence, const DocsBlock& block);

/// Rates of single shapes; `beside=NAME`: those of another kernel next to them.
std::string docs_rates(DocsEvidence& evidence, const DocsBlock& block);
/// Prediction, time, error, rate and gate of each row; `shapes=A|B`: of these.
std::string docs_cases(DocsEvidence& evidence, const DocsBlock& block);
/// How far predictions were off, by kernel.
std::string docs_accuracy(DocsEvidence& evidence, const DocsBlock& block);

/// What share of the copy ceiling that the file itself has each row reaches that memory limits and
/// that moves 256 MB or more, worst first, with `goal=PERCENT` beside it.
std::string docs_copy_share(DocsEvidence& evidence, const DocsBlock& block);

/// One figure with its unit, for a sentence: `of=mean-ratio`, `least-ratio`, `mean-error-ratio`,
/// `most-error-ratio`, `rate`, `median-error` or `worst-first-sight`.
std::string docs_value(DocsEvidence& evidence, const DocsBlock& block);

/// How good predictions of all committed receipts were, and the kernel that is worst at first
/// sight.
std::string docs_scorecard(DocsEvidence& evidence, const DocsBlock& block);
std::string docs_worst_first_sight(DocsEvidence& evidence);
/// How many rows are hits, first sight apart from seen: half a sentence.
std::string docs_first_sight(DocsEvidence& evidence);

/// Every calibrated constant that predictions of `suite` on `device` by `kernels` rest on.
std::string docs_constants(const DocsBlock& block);

/// What `raceline predict` says of `shape` on `device` with committed and datasheet rates, as a
/// terminal of 80 columns has it.
std::string docs_answer(const DocsBlock& block);

/// What an element of `shape`, an operation on a grid, must move, for each type and each word that
/// the operation accepts.
std::string docs_bytes(const DocsBlock& block);

/// Times that others published on devices that nobody measured here (docs/published.json), beside
/// the model's times of our kernel, times the peer's time over ours as measured on an H200.
std::string docs_published(DocsEvidence& evidence);

/// A block of any kind, with the line ends around a table. Throws Error(invalid_argument) naming
/// the kinds if there is no such one.
std::string docs_block(DocsEvidence& evidence, const DocsBlock& block);

}  // namespace raceline
