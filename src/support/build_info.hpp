// SPDX-License-Identifier: Apache-2.0
// What the build knows about itself; written by tools/build_info.cmake at every build.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace raceline::build_info {

std::string_view version();     ///< "0.1.0"
std::string_view git_commit();  ///< 40 hex digits, or "unknown" outside a checkout
bool git_dirty();
std::string_view compiler();  ///< "GNU 12.2.0"
/// "Release", or "Release, AVX2 alone" where kernels of the CPU have one SIMD target.
std::string_view build_type();
std::string_view cuda();  ///< "13.0", or "" in a build without CUDA
std::string_view
model_hash();  ///< SHA-256 over src/model and src/schedule, comments and white space removed

/// Files compiled in: devices/*.json, receipts/*/ceilings.jsonl, ladder/lessons.md and
/// ladder/*.json, named as in the tree.
struct EmbeddedFile {
    std::string_view path, content;
};
std::span<const EmbeddedFile> embedded_files();

/// The sources of the ladder's rungs and tracks, for `raceline kernels --diff` and pages:
/// where pages are written alone.
std::span<const EmbeddedFile> ladder_sources();

/// What pages are made of (src/page/page.hpp): where they are written alone.
std::span<const EmbeddedFile> page_sources();

/// Scripts that complete words of a command line in a shell: where the program is.
std::span<const EmbeddedFile> completion_scripts();

/// How wrong predictions of the committed receipts were (src/receipt/residuals.hpp), from
/// tools/residuals.cpp.
struct EmbeddedResidual {
    std::string_view device_id, device_name, kernel;
    bool cold;
    int newer_models;
    double predicted, residual;
};
std::span<const EmbeddedResidual> residuals();

/// Every kernel and every case that the committed receipts measured on a device: a key of
/// sight_keys (src/report/first_sight.hpp), in the order of these, and when that was first (RFC
/// 3339, UTC).
struct EmbeddedSight {
    std::string_view key, first;
};
std::span<const EmbeddedSight> first_sights();

/// A receipt file that was committed when this was built, by its line of receipts/manifest.jsonl or
/// receipts/index.jsonl: where it lies or lay, how many rows it has, and the ends of their chain.
struct EmbeddedReceipt {
    std::string_view path, first_hash, last_hash;
    std::size_t rows;
};
std::span<const EmbeddedReceipt> committed_receipts();

}  // namespace raceline::build_info
