// SPDX-License-Identifier: Apache-2.0
#include "receipt/stored_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "support/check.hpp"
#include "support/gzip.hpp"

namespace raceline {
namespace {

constexpr std::string_view plain_ending = ".jsonl";
constexpr std::string_view compressed_ending = ".gz";

using InputFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

InputFile opened(const std::string& path) {
    return {std::fopen(path.c_str(), "rbe"), &std::fclose};
}

// At most `most` bytes as they lie there.
std::string bytes_of(std::FILE* in, std::size_t most) {
    std::string bytes;
    std::array<char, 1 << 16> block{};
    while (bytes.size() < most) {
        const std::size_t wanted = std::min(block.size(), most - bytes.size());
        const std::size_t got = std::fread(block.data(), 1, wanted, in);
        if (got == 0) {
            break;
        }
        bytes.append(block.data(), got);
    }
    return bytes;
}

}  // namespace

std::string stored_text(const std::string& path) {
    const InputFile in = opened(path);
    require(in != nullptr, Status::io, "{}: cannot open for reading: {}", path,
            std::generic_category().message(errno));
    std::string bytes = bytes_of(in.get(), std::string::npos);
    require(std::ferror(in.get()) == 0, Status::io, "{}: cannot read: {}", path,
            std::generic_category().message(errno));
    return is_gzip(bytes) ? gunzip(bytes, path) : bytes;
}

std::string stored_head(const std::string& path, std::size_t most) {
    const InputFile in = opened(path);
    // Of compressed bytes a few say nothing yet.
    constexpr std::size_t least = 1 << 16;
    const std::string bytes =
        in == nullptr ? std::string() : bytes_of(in.get(), std::max(most, least));
    return is_gzip(bytes) ? gunzip_head(bytes, most) : bytes.substr(0, most);
}

std::string_view plain_name(std::string_view path) {
    if (path.ends_with(compressed_ending)) {
        path.remove_suffix(compressed_ending.size());
    }
    return path;
}

bool is_receipt_name(std::string_view path) {
    return plain_name(path).ends_with(plain_ending);
}

bool is_index_name(std::string_view path) {
    return std::filesystem::path(plain_name(path)).filename() == "index.jsonl";
}

std::vector<std::string> stored_receipts(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<std::string> paths;
    for (const auto& device : fs::directory_iterator(folder)) {
        if (!device.is_directory()) {
            continue;
        }
        for (const auto& file : fs::directory_iterator(device.path())) {
            if (file.is_regular_file() && is_receipt_name(file.path().string())) {
                paths.push_back(file.path().string());
            }
        }
    }
    std::ranges::sort(paths);
    return paths;
}

std::vector<std::string> stored_indexes(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<std::string> paths;
    for (const char* file : {"index.jsonl.gz", "index.jsonl"}) {
        if (const fs::path path = fs::path(folder) / file; fs::exists(path)) {
            paths.push_back(path.string());
        }
    }
    return paths;
}

}  // namespace raceline
