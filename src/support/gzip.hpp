// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace raceline {

/// Whether bytes begin as the gzip format does, whatever their file is called.
bool is_gzip(std::string_view bytes);

/// The bytes in the gzip format, as by `gzip -n -9`: one member, with no name and no time, so that
/// the same bytes always give the same.
std::string gzip(std::string_view bytes);

/// Whether bytes have the form that gzip() gives: no name, no time, compressed as far as it goes.
bool is_plain_gzip(std::string_view bytes);

/// The most that gunzip() gives. The longest receipt file so far has 15 MB. A megabyte of zeros
/// takes a kilobyte, so that without a limit a small file could fill a machine's memory.
inline constexpr std::size_t gunzip_limit = std::size_t{256} << 20;

/// What was compressed, of all members one after the other. Throws Error(corrupt) that begins with
/// `name` if the bytes are cut off or damaged, or if others follow; Error(invalid_argument) if it
/// is more than `limit` bytes.
std::string gunzip(std::string_view bytes, std::string_view name, std::size_t limit = gunzip_limit);

/// Its first `most` bytes, or what there is before the end or the first fault.
std::string gunzip_head(std::string_view bytes, std::size_t most);

}  // namespace raceline
