// SPDX-License-Identifier: Apache-2.0
#include "support/whole_file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "support/check.hpp"

namespace raceline {

namespace fs = std::filesystem;

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
    const fs::path whole = replaces ? fs::canonical(file, failed) : fs::path(file);
    const fs::path fresh = whole.string() + ".new";
    std::ofstream out(fresh, std::ios::trunc | std::ios::binary);
    const bool written = (out << content << std::flush).good();
    out.close();
    if (written && !failed) {
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
