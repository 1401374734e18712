// SPDX-License-Identifier: Apache-2.0
#include "receipt/stored_text.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_rows.hpp"
#include "receipt/file.hpp"
#include "receipt/named_file.hpp"
#include "receipt/past_measurement.hpp"
#include "support/check.hpp"
#include "support/gzip.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

class Stored : public example::Folder {
protected:
    void SetUp() override {
        {
            ReceiptWriter writer(path("plain.jsonl"));
            const Json predicted = writer.append(
                make_row(RowContext{}, "prediction", std::string(64, '0'), example::prediction()));
            writer.append(make_row(RowContext{}, "measurement", std::string(64, '0'),
                                   example::measurement(predicted)));
        }
        text_ = read(path("plain.jsonl"));
        write(path("packed.jsonl.gz"), gzip(text_));
    }
    [[nodiscard]] static std::string refusal(const std::function<void()>& act, Status status) {
        try {
            act();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), status) << error.what();
            return error.what();
        }
        return "nothing";
    }
    std::string text_;
};

TEST_F(Stored, receipts_say_the_same_plain_and_compressed) {
    // Known by what is in it: a name may say anything.
    fs::copy(path("packed.jsonl.gz"), path("called_plain.jsonl"));
    fs::copy(path("plain.jsonl"), path("called_packed.jsonl.gz"));
    const ReceiptFile plain = read_receipts(path("plain.jsonl"));
    ASSERT_EQ(plain.rows.size(), 2U);
    for (const char* name : {"packed.jsonl.gz", "called_plain.jsonl", "called_packed.jsonl.gz"}) {
        EXPECT_EQ(stored_text(path(name)), text_) << name;
        const ReceiptFile file = read_receipts(path(name));
        EXPECT_EQ(file.rows, plain.rows) << name;
        EXPECT_EQ(file.lines, plain.lines) << name;
        EXPECT_NO_THROW(require_receipts(path(name))) << name;
        ASSERT_EQ(read_past(path(name)).size(), 1U) << name;
        EXPECT_EQ(read_past(path(name))[0].measurements,
                  read_past(path("plain.jsonl"))[0].measurements);
    }
}

// Lines are counted in the text.
TEST_F(Stored, a_broken_row_is_named_by_its_line_in_the_text) {
    write(path("broken.jsonl.gz"), gzip(text_ + "{\"schema\":2}\n"));
    const ReceiptFile file = read_receipts(path("broken.jsonl.gz"));
    ASSERT_EQ(file.bad.size(), 1U);
    EXPECT_EQ(file.bad[0].line, 3U);
    write(path("unfinished.jsonl.gz"), gzip(text_ + "{\"sch"));
    EXPECT_TRUE(read_receipts(path("unfinished.jsonl.gz")).unfinished);
}

TEST_F(Stored, what_cannot_be_unpacked_is_refused_with_its_name) {
    const std::string whole = gzip(text_);
    write(path("cut.gz"), whole.substr(0, whole.size() / 2));
    write(path("more.gz"), whole + "more");
    for (const char* name : {"cut.gz", "more.gz"}) {
        EXPECT_NO_THROW(require_receipts(path(name))) << "it has rows: its reader says the rest";
        EXPECT_THAT(refusal([&] { read_receipts(path(name)); }, Status::corrupt),
                    testing::StartsWith(path(name) + ": "));
    }
    EXPECT_THAT(refusal([&] { stored_text(path("none.gz")); }, Status::io), HasSubstr("none.gz"));
    EXPECT_EQ(stored_head(path("none.gz"), 10), "");
    EXPECT_EQ(stored_head(path("packed.jsonl.gz"), 10), text_.substr(0, 10));
    EXPECT_EQ(stored_head(path("plain.jsonl"), 10), text_.substr(0, 10));
}

TEST_F(Stored, a_compressed_file_that_is_no_receipt_is_refused_by_its_first_bytes_alone) {
    write(path("zeros.gz"), gzip(std::string(std::size_t{300} << 20, '\0')));
    EXPECT_THAT(refusal([&] { require_receipts(path("zeros.gz")); }, Status::corrupt),
                HasSubstr("is no receipt file"));
}

TEST_F(Stored, a_writer_takes_no_compressed_file_and_says_what_to_do) {
    EXPECT_THAT(refusal([&] { ReceiptWriter(path("new.jsonl.gz")); }, Status::invalid_argument),
                AllOf(HasSubstr(path("new.jsonl") + ","), HasSubstr("gzip -n -9")));
    EXPECT_FALSE(fs::exists(path("new.jsonl.gz")));
    fs::copy(path("packed.jsonl.gz"), path("packed"));
    const std::string before = read(path("packed"));
    EXPECT_THAT(refusal([&] { ReceiptWriter(path("packed")); }, Status::invalid_argument),
                AllOf(HasSubstr("is compressed"), HasSubstr("gunzip")));
    EXPECT_EQ(read(path("packed")), before);
}

TEST_F(Stored, names_of_receipts_and_of_the_index) {
    EXPECT_TRUE(is_receipt_name("a/b.jsonl"));
    EXPECT_TRUE(is_receipt_name("a/b.jsonl.gz"));
    EXPECT_FALSE(is_receipt_name("a/b.gz"));
    EXPECT_FALSE(is_receipt_name("a/b.jsonl.txt"));
    EXPECT_TRUE(is_index_name("a/index.jsonl"));
    EXPECT_TRUE(is_index_name("index.jsonl.gz"));
    EXPECT_FALSE(is_index_name("a/myindex.jsonl"));
    EXPECT_EQ(plain_name("a/b.jsonl.gz"), "a/b.jsonl");
    EXPECT_EQ(plain_name("a/b.jsonl"), "a/b.jsonl");
}

TEST_F(Stored, files_of_a_folder_are_found_in_order_and_its_lists_apart) {
    fs::create_directories(path("receipts/cpu/logs"));
    fs::create_directories(path("receipts/h200"));
    for (const char* name :
         {"receipts/h200/b.jsonl", "receipts/h200/a.jsonl.gz", "receipts/cpu/z.jsonl.gz",
          "receipts/cpu/notes.txt", "receipts/cpu/logs/l.jsonl", "receipts/manifest.jsonl"}) {
        write(path(name), text_);
    }
    EXPECT_THAT(stored_receipts(path("receipts")),
                ElementsAre(path("receipts/cpu/z.jsonl.gz"), path("receipts/h200/a.jsonl.gz"),
                            path("receipts/h200/b.jsonl")));
    EXPECT_THAT(stored_indexes(path("receipts")), IsEmpty());
    write(path("receipts/index.jsonl"), "");
    write(path("receipts/index.jsonl.gz"), gzip(""));
    EXPECT_THAT(stored_indexes(path("receipts")),
                ElementsAre(path("receipts/index.jsonl.gz"), path("receipts/index.jsonl")));
}

}  // namespace
}  // namespace raceline
