// SPDX-License-Identifier: Apache-2.0
#include "support/whole_file.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include "support/check.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

// The file that symbolic links lead to, whether it is there or not: the links stay.
fs::path behind_links(const std::string& file) {
    constexpr int most_links = 40;  // as many as the kernel follows
    std::error_code failed;
    fs::path path = file;
    for (int links = 0; fs::is_symlink(fs::symlink_status(path, failed)); ++links) {
        require(links < most_links, Status::io,
                "cannot write {}: its symbolic links lead round in a circle", file);
        const fs::path target = fs::read_symlink(path, failed);
        require(!failed, Status::io, "cannot write {}: where {} leads to cannot be read", file,
                path.string());
        path = path.parent_path() / target;  // an absolute target stands alone
    }
    return path;
}

}  // namespace

// Beside the old file first: a full disk costs the new one alone.
void write_whole_file(const std::string& file, std::string_view content) {
    std::error_code failed;
    const bool replaces = fs::exists(file, failed);
    // A terminal, a pipe or a device is written to; nothing may take its place.
    if (replaces && !fs::is_regular_file(file, failed)) {
        std::ofstream straight(file, std::ios::binary);
        require((straight << content << std::flush).good(), Status::io,
                "cannot write all of {}: it takes no more", file);
        return;
    }
    const fs::path whole = behind_links(file);
    failed.clear();
    // A name that nobody's file has.
    const fs::path fresh = fmt::format("{}.new-{}", whole.string(), getpid());
    std::ofstream out(fresh, std::ios::trunc | std::ios::binary);
    const bool written = (out << content << std::flush).good();
    out.close();
    if (written) {
        if (replaces) {
            fs::permissions(fresh, fs::status(whole).permissions(), failed);
        }
        fs::rename(fresh, whole, failed);
    }
    if (!written || failed) {
        std::error_code ignored;
        fs::remove(fresh, ignored);
        fail(Status::io, "cannot write {}: give it a folder with space left that may be written",
             file);
    }
}

}  // namespace raceline
