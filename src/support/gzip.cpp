// SPDX-License-Identifier: Apache-2.0
#include "support/gzip.hpp"

#include <algorithm>
#include <zlib.h>

#include "support/check.hpp"

namespace raceline {
namespace {

constexpr int gzip_format = 15 + 16;  // the largest window, and a gzip header
constexpr std::string_view magic = "\x1f\x8b";

// zlib reads through this pointer and never writes.
Bytef* readable(std::string_view bytes) {
    return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

/// Members one after the other, some bytes at a time.
class Inflater {
public:
    explicit Inflater(std::string_view bytes) : rest_(bytes) {
        require(inflateInit2(&stream_, gzip_format) == Z_OK, Status::internal,
                "zlib does not start");
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    enum class State { going, ended, cut, damaged, followed };

    /// Appends at most `most` bytes.
    State step(std::string& text, std::size_t most) {
        const std::size_t before = text.size();
        text.resize(before + most);
        // Both counts have 32 bits.
        const std::size_t given = std::min(rest_.size(), std::size_t{1} << 30);
        stream_.next_in = readable(rest_);
        stream_.avail_in = static_cast<uInt>(given);
        stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
        stream_.avail_out = static_cast<uInt>(most);
        const int said = inflate(&stream_, Z_NO_FLUSH);
        text.resize(text.size() - stream_.avail_out);
        rest_.remove_prefix(given - stream_.avail_in);
        if (said == Z_STREAM_END) {
            return next_member();
        }
        if (said != Z_OK && said != Z_BUF_ERROR) {
            return State::damaged;
        }
        return stream_.avail_out > 0 && rest_.empty() ? State::cut : State::going;
    }
    /// Of damaged bytes, in zlib's words.
    [[nodiscard]] std::string_view why() const {
        return stream_.msg == nullptr ? "for no reason that zlib names" : stream_.msg;
    }
    [[nodiscard]] std::size_t left() const { return rest_.size(); }

private:
    State next_member() {
        if (rest_.empty()) {
            return State::ended;
        }
        if (!is_gzip(rest_)) {
            return State::followed;
        }
        inflateReset(&stream_);
        return State::going;
    }
    z_stream stream_{};
    std::string_view rest_;
};

constexpr std::size_t block_bytes = std::size_t{1} << 20;

}  // namespace

bool is_gzip(std::string_view bytes) {
    return bytes.starts_with(magic);
}

bool is_plain_gzip(std::string_view bytes) {
    // Magic, deflate, no flags, no time, best compression; the tenth byte names the system.
    constexpr std::string_view head{"\x1f\x8b\x08\0\0\0\0\0\x02", 9};
    return bytes.starts_with(head);
}

std::string gzip(std::string_view bytes) {
    constexpr int memory_level = 9;
    z_stream stream{};
    require(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_format, memory_level,
                         Z_DEFAULT_STRATEGY) == Z_OK,
            Status::internal, "zlib does not start");
    std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
    stream.next_in = readable(bytes);
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int ended = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    require(ended == Z_STREAM_END, Status::internal, "zlib stopped with {} after {} bytes", ended,
            out.size());
    return out;
}

std::string gunzip(std::string_view bytes, std::string_view name, std::size_t limit) {
    Inflater inflater(bytes);
    std::string text;
    for (;;) {
        const auto state = inflater.step(text, std::min(block_bytes, limit + 1 - text.size()));
        require(text.size() <= limit, Status::invalid_argument,
                "{}: more than {} MiB once it is unpacked, which is not read; unpack it with "
                "gunzip and name the plain file",
                name, limit >> 20);
        switch (state) {
            case Inflater::State::ended: return text;
            case Inflater::State::cut:
                fail(Status::corrupt,
                     "{}: its compressed data end too early: the file was cut off; fetch or "
                     "compress it again",
                     name);
            case Inflater::State::damaged:
                fail(Status::corrupt,
                     "{}: its compressed data are damaged ({}); fetch or compress it again", name,
                     inflater.why());
            case Inflater::State::followed:
                fail(Status::corrupt,
                     "{}: behind its compressed data {} bytes follow that are none; compressed "
                     "files may be joined with each other, not with text",
                     name, inflater.left());
            case Inflater::State::going: break;
        }
    }
}

std::string gunzip_head(std::string_view bytes, std::size_t most) {
    Inflater inflater(bytes);
    std::string text;
    while (text.size() < most) {
        if (inflater.step(text, most - text.size()) != Inflater::State::going) {
            break;
        }
    }
    return text;
}

}  // namespace raceline
