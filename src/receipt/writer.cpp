// SPDX-License-Identifier: Apache-2.0
// The writing half of file.hpp. Invariant, held under the lock before every append: the file ends
// with a newline (or is empty) and `end` is of its last valid row.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "receipt/appended_file.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"
#include "support/gzip.hpp"
#include "support/time.hpp"

namespace raceline {

// Not in the unnamed namespace: a member of the class has this type.
struct ChainEnd {
    Json hash = nullptr;  ///< null if there is no valid row
    std::string written;
    int schema = receipt_schema;
};

namespace {

// A row is one write at the end of the text, and an unfinished one is cut off there: a compressed
// file has no such end.
std::string require_plain(const std::string& path) {
    require(
        plain_name(path) == path, Status::invalid_argument,
        "{}: rows are appended as plain text; name the file {}, and compress it with `gzip -n -9` "
        "once it is whole",
        path, plain_name(path));
    return path;
}

constexpr std::string_view row_begin = "{\"schema\":";

// Bytes up to and with the last newline. Read backwards in growing steps: a file may be long, its
// last line seldom is.
std::size_t whole_size(const AppendedFile& file, std::size_t size) {
    for (std::size_t step = 4096; size > 0; step *= 4) {
        const std::size_t begin = size - std::min(step, size);
        const std::size_t newline = file.read(begin, size).rfind('\n');
        if (newline != std::string::npos) {
            return begin + newline + 1;
        }
        if (begin == 0) {
            break;
        }
    }
    return 0;
}

// The last valid row before `size`, as it stands: one that was changed since is for check_receipts
// to find, not for a writer to mend.
ChainEnd chain_end(const AppendedFile& file, std::size_t size) {
    for (std::size_t step = 8192; size > 0; step *= 4) {
        const std::size_t begin = size - std::min(step, size);
        std::string tail = file.read(begin, size);
        if (begin > 0) {
            // Starts in the middle of a line.
            tail.erase(0, tail.find('\n') + 1);
        }
        const ReceiptFile rows = parse_receipts(tail);
        if (!rows.rows.empty()) {
            const Json& last = rows.rows.back();
            return {last.at("hash"), last.at("written").get<std::string>(),
                    last.at("schema").get<int>()};
        }
        if (begin == 0) {
            break;
        }
    }
    return {};
}

}  // namespace

struct ReceiptWriter::State {
    explicit State(const std::string& path) : file(require_plain(path)) {}

    // Cuts an unfinished last line and finds the chain's end, unless nobody wrote since `known`.
    void take_up() {
        const std::size_t size = file.size();
        if (size == known) {
            return;
        }
        const std::size_t whole = whole_size(file, size);
        end = chain_end(file, whole);
        require_receipts(whole, size);
        if (whole != size) {
            file.truncate(whole);
            repaired += size - whole;
        }
        known = whole;
    }

    // A mistyped path must not cost a user the last line of some other file.
    void require_receipts(std::size_t whole, std::size_t size) const {
        require(
            !is_gzip(file.read(0, std::min(size, std::size_t{2}))), Status::invalid_argument,
            "{}: is compressed, and rows are appended as plain text: name a new file, or unpack "
            "this one with gunzip",
            file.path());
        require(whole == 0 || !end.hash.is_null(), Status::corrupt,
                "{}: holds no valid receipt row: rows are appended to a receipt file or a new one",
                file.path());
        require(end.schema == receipt_schema, Status::invalid_argument,
                "{}: holds rows of schema {}; what is written is of schema {}, and a file is of "
                "one: name a new file",
                file.path(), end.schema, receipt_schema);
        const std::string tail = file.read(whole, std::min(size, whole + row_begin.size()));
        require(row_begin.starts_with(tail), Status::corrupt,
                "{}: ends in an unfinished line that is no receipt row: rows are appended to a "
                "receipt file or a new one",
                file.path());
    }

    AppendedFile file;
    std::size_t known = 0;  ///< size after our last look; another one means that others wrote
    ChainEnd end;
    std::size_t repaired = 0;
};

ReceiptWriter::ReceiptWriter(const std::string& path) : state_(std::make_unique<State>(path)) {
    const AppendedFile::Lock lock(state_->file);
    state_->take_up();
}

ReceiptWriter::~ReceiptWriter() = default;
ReceiptWriter::ReceiptWriter(ReceiptWriter&&) noexcept = default;
ReceiptWriter& ReceiptWriter::operator=(ReceiptWriter&&) noexcept = default;

Json ReceiptWriter::append(Json row) {
    // The repair recognises an unfinished row by how rows begin.
    require(row.is_object() && !row.empty() && row.begin().key() == "schema",
            Status::invalid_argument,
            "a receipt row must be an object whose first member is "
            "\"schema\"; make_row builds one");
    const AppendedFile::Lock lock(state_->file);
    state_->take_up();
    // Made before another process appended its own: a row is written when it is appended.
    if (const auto made = row.find("written");
        made != row.end() && made->is_string() && *made < state_->end.written) {
        *made = utc_now();
    }
    row["prev"] = state_->end.hash;
    row["hash"] = row_hash(row);
    try {
        validate_row(row);
    } catch (const Error& e) {
        fail(Status::invalid_argument, "{}: a row that is not valid is not written: {}", path(),
             e.what());
    }
    const std::string line = dump_json(row) + '\n';
    state_->file.append(line, state_->known);
    state_->known += line.size();
    state_->end = {row.at("hash"), row.at("written").get<std::string>(), receipt_schema};
    return row;
}

const std::string& ReceiptWriter::path() const {
    return state_->file.path();
}

std::size_t ReceiptWriter::repaired() const {
    return state_->repaired;
}

}  // namespace raceline
