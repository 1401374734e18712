// SPDX-License-Identifier: Apache-2.0
// Receipt files as they lie in a folder: plain or compressed, and how they are called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// The text of a receipt file or an index. A compressed one is known by its first bytes, not by its
/// name: line numbers and hashes are always those of the text. Throws Error(io) if the file cannot
/// be read, and as gunzip() does.
std::string stored_text(const std::string& path);

/// Its first `most` bytes; of a file that cannot be read or unpacked what there is.
std::string stored_head(const std::string& path, std::size_t most);

/// NAME.jsonl or NAME.jsonl.gz.
bool is_receipt_name(std::string_view path);

/// Of these index.jsonl, which lists files that left a tree.
bool is_index_name(std::string_view path);

/// The name of the plain file: a receipt is the same one, compressed or not.
std::string_view plain_name(std::string_view path);

/// The receipt files in the folders of devices of a folder of the form of receipts/, sorted.
std::vector<std::string> stored_receipts(const std::string& folder);

/// The files of the index of such a folder, the older lines first: index.jsonl.gz, to which
/// `receipt_index seal` moves lines, then index.jsonl. Those that are there.
std::vector<std::string> stored_indexes(const std::string& folder);

}  // namespace raceline
