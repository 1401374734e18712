// SPDX-License-Identifier: Apache-2.0
#include "support/gzip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "support/check.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Lines that compress as rows do, larger than a block of the reader.
std::string rows() {
    std::string text;
    for (int i = 0; text.size() < 3'000'000; ++i) {
        text += fmt::format("{{\"schema\":2,\"id\":{}}}\n", i * 7919);
    }
    return text;
}

std::string refusal(std::string_view bytes, Status status, std::size_t limit = gunzip_limit) {
    try {
        gunzip(bytes, "a file", limit);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status);
        return error.what();
    }
    return "nothing";
}

TEST(Gzip, gives_back_what_it_took) {
    for (const std::string& text : {std::string(), std::string("a\n"), std::string(1 << 20, '\0'),
                                    std::string((1 << 20) + 1, 'x'), rows()}) {
        EXPECT_TRUE(gunzip(gzip(text), "a file") == text) << text.size();
    }
}

// The manifest has no room for a second hash: the same text must be the same file.
TEST(Gzip, of_the_same_bytes_is_the_same_without_name_and_date) {
    const std::string text = rows();
    EXPECT_TRUE(gzip(text) == gzip(text));
    const std::string bytes = gzip("a\n");
    EXPECT_EQ(bytes.substr(0, 9), std::string("\x1f\x8b\x08\0\0\0\0\0\x02", 9));
    EXPECT_TRUE(is_plain_gzip(bytes));
    for (const std::size_t at : {3, 4, 7, 8}) {  // flags, the date's ends, how hard it tried
        std::string other = bytes;
        ++other[at];
        EXPECT_FALSE(is_plain_gzip(other)) << at;
        EXPECT_TRUE(is_gzip(other)) << at;
    }
    EXPECT_FALSE(is_gzip("{\"schema\":2}"));
    EXPECT_FALSE(is_gzip("\x1f"));
}

TEST(Gzip, joined_files_are_read_as_one) {
    EXPECT_EQ(gunzip(gzip("one\n") + gzip("") + gzip("two\n"), "a file"), "one\ntwo\n");
}

TEST(Gzip, cut_off_anywhere_is_refused) {
    const std::string bytes = gzip(rows().substr(0, 20'000));
    for (std::size_t size = 2; size < bytes.size(); ++size) {
        EXPECT_THAT(refusal(bytes.substr(0, size), Status::corrupt),
                    AllOf(StartsWith("a file: "), HasSubstr("end too early")))
            << size;
    }
    const std::string second = bytes + bytes.substr(0, 5);
    EXPECT_THAT(refusal(second, Status::corrupt), HasSubstr("end too early"));
}

TEST(Gzip, damaged_bytes_are_refused) {
    const std::string bytes = gzip(rows().substr(0, 20'000));
    for (const std::size_t at : {std::size_t{2}, bytes.size() / 2, bytes.size() - 1}) {
        std::string other = bytes;
        other[at] = static_cast<char>(other[at] ^ 0x55);
        EXPECT_THAT(refusal(other, Status::corrupt), HasSubstr("are damaged (")) << at;
    }
}

TEST(Gzip, what_follows_is_refused_by_its_size) {
    EXPECT_THAT(refusal(gzip("one\n") + "text", Status::corrupt), HasSubstr("4 bytes follow"));
    EXPECT_THAT(refusal(gzip("one\n") + '\n', Status::corrupt), HasSubstr("1 bytes follow"));
}

// A small file must not fill the memory: it is refused as soon as it is over the limit.
TEST(Gzip, more_than_the_limit_is_refused) {
    const std::string bomb = gzip(std::string(8 << 20, '\0'));
    EXPECT_LT(bomb.size(), 10'000U);
    EXPECT_EQ(gunzip(bomb, "a file", 8 << 20).size(), 8U << 20);
    EXPECT_THAT(refusal(bomb, Status::invalid_argument, (8 << 20) - 1),
                AllOf(HasSubstr("more than 7 MiB"), HasSubstr("gunzip")));
    // Of many members as well.
    EXPECT_THAT(refusal(bomb + bomb, Status::invalid_argument, 9 << 20), HasSubstr("more than"));
}

TEST(Gzip, a_head_is_what_can_be_read) {
    const std::string text = rows();
    const std::string bytes = gzip(text);
    EXPECT_EQ(gunzip_head(bytes, 100), text.substr(0, 100));
    EXPECT_EQ(gunzip_head(gzip("one\n") + gzip("two\n"), 6), "one\ntw");
    EXPECT_EQ(gunzip_head(gzip("one\n"), 100), "one\n");
    const std::string cut = gunzip_head(bytes.substr(0, bytes.size() / 2), text.size());
    EXPECT_GT(cut.size(), text.size() / 4);
    EXPECT_TRUE(text.starts_with(cut));
    EXPECT_EQ(gunzip_head("\x1f\x8b no such format", 100), "");
}

}  // namespace
}  // namespace raceline
