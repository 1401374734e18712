// SPDX-License-Identifier: Apache-2.0
#include "receipt_files.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "receipt/file.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"

namespace raceline::cli {

namespace fs = std::filesystem;

std::vector<std::string> receipts_newest_first() {
    const fs::path folder = fs::path(default_receipt_path("any")).parent_path();
    std::vector<std::pair<fs::file_time_type, std::string>> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        // One without a byte is of a run that was refused, or ended before its first row.
        if (is_receipt_name(entry.path().string()) && entry.file_size(none) > 0) {
            found.emplace_back(entry.last_write_time(), entry.path().string());
        }
    }
    require(!found.empty(), Status::invalid_argument,
            "no receipts in {}: run `raceline bench` first, or name a file", folder.string());
    std::ranges::sort(found, std::greater());
    std::vector<std::string> names;
    names.reserve(found.size());
    for (auto& [time, name] : found) {
        names.push_back(std::move(name));
    }
    return names;
}

namespace {

// Rows are written by this program, in one way. Of a file that cannot be read or unpacked nobody
// knows, and `report FILE` says so.
bool has_measurement(const std::string& file) {
    try {
        const std::string text = stored_text(file);
        return text.find(R"("kind":"measurement")") != std::string::npos ||
               text.find(R"("kind":"comparison")") != std::string::npos;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::string NewestReceipt::text() const {
    return others_are_newer ? file + ", the newest run that has a measurement" : file;
}

NewestReceipt newest_receipt() {
    const std::vector<std::string> files = receipts_newest_first();
    const auto found = std::ranges::find_if(files, has_measurement);
    return found == files.end() ? NewestReceipt{files.front()}
                                : NewestReceipt{*found, found != files.begin()};
}

}  // namespace raceline::cli
