// SPDX-License-Identifier: Apache-2.0
// Hashes of the kernels' machine code, from tools/code_hash.cpp.
#pragma once

#include <span>
#include <string_view>

namespace raceline {

/// One a kernel and what runs it: "host:…" or, of the cubins for an architecture, "sm_90:…". A
/// kernel for GPUs that was built without CUDA has only its host code here.
struct CodeHash {
    std::string_view kernel, hash;
};
std::span<const CodeHash> code_hashes();

}  // namespace raceline
