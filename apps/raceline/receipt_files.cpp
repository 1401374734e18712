// SPDX-License-Identifier: Apache-2.0
#include "receipt_files.hpp"

#include <filesystem>
#include <system_error>

#include "receipt/file.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"

namespace raceline::cli {

namespace fs = std::filesystem;

std::string newest_receipt() {
    const fs::path folder = fs::path(default_receipt_path("any")).parent_path();
    fs::path newest;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        // One without a byte is of a run that was refused, or ended before its first row.
        const bool receipt = is_receipt_name(entry.path().string()) && entry.file_size(none) > 0;
        if (receipt && (newest.empty() || entry.last_write_time() > fs::last_write_time(newest))) {
            newest = entry.path();
        }
    }
    require(!newest.empty(), Status::invalid_argument,
            "no receipts in {}: run `raceline bench` first, or name a file", folder.string());
    return newest.string();
}

}  // namespace raceline::cli
