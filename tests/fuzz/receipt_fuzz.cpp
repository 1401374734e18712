// SPDX-License-Identifier: Apache-2.0
// libFuzzer over the receipt reader: no text may crash it, throw out of it, hide a line, or come
// back changed; compressed bytes may be refused, and never be more than the limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "support/check.hpp"
#include "support/gzip.hpp"

namespace {

// What begins as a compressed file does, and the same bytes compressed.
void unpack(std::string_view bytes) {
    constexpr std::size_t limit = 1 << 20;
    if (raceline::is_gzip(bytes)) {
        try {
            if (raceline::gunzip(bytes, "bytes", limit).size() > limit) {
                std::abort();
            }
        } catch (const raceline::Error& refused) {
            if (std::string_view(refused.what()).empty()) {
                std::abort();
            }
        }
        if (raceline::gunzip_head(bytes, 1000).size() > 1000) {
            std::abort();
        }
    }
    if (bytes.size() <= limit && raceline::gunzip(raceline::gzip(bytes), "bytes", limit) != bytes) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // char may alias any bytes.
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    unpack(text);
    const raceline::ReceiptFile file = raceline::parse_receipts(text);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (file.rows.size() + file.bad.size() != lines || file.rows.size() != file.lines.size() ||
        file.unfinished != (!text.empty() && text.back() != '\n')) {
        std::abort();
    }
    raceline::check_receipts(file);
    for (const raceline::Json& row : file.rows) {
        const std::string line = raceline::dump_json(row) + '\n';
        const raceline::ReceiptFile again = raceline::parse_receipts(line);
        if (again.rows.size() != 1 || raceline::dump_json(again.rows[0]) + '\n' != line ||
            raceline::row_hash(again.rows[0]) != raceline::row_hash(row)) {
            std::abort();
        }
    }
    return 0;
}
