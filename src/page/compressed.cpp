// SPDX-License-Identifier: Apache-2.0
#include "page/compressed.hpp"

#include <cstddef>
#include <cstdint>
#include <zlib.h>

#include "support/check.hpp"

namespace raceline {
namespace {

std::string gzip(std::string_view bytes) {
    constexpr int gzip_format = 15 + 16;  // the largest window, and a gzip header
    constexpr int memory_level = 9;
    z_stream stream{};
    require(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_format, memory_level,
                         Z_DEFAULT_STRATEGY) == Z_OK,
            Status::internal, "zlib does not start");
    std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
    // zlib reads through this pointer and never writes.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
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

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t rest = bytes.size() - at;
        std::uint32_t three = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            three = three << 8 | (i < rest ? static_cast<unsigned char>(bytes[at + i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            out += i <= rest ? digits[three >> (18 - 6 * i) & 63] : '=';
        }
    }
    return out;
}

}  // namespace

std::string compressed(std::string_view bytes) {
    return base64(gzip(bytes));
}

}  // namespace raceline
