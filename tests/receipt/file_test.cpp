// SPDX-License-Identifier: Apache-2.0
#include "receipt/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raceline/error.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ReceiptFileTest : public example::Folder {
protected:
    void append(int rows, const char* kind = "refusal") const {
        ReceiptWriter writer(path());
        for (int i = 0; i < rows; ++i) {
            writer.append(example::row(kind));
        }
    }
    static std::string refusal(const std::function<void()>& act, Status status) {
        try {
            act();
        } catch (const Error& e) {
            EXPECT_EQ(static_cast<int>(e.status()), static_cast<int>(status)) << e.what();
            return e.what();
        }
        return "accepted";
    }
    std::string refused_open(const std::string& at, Status status) const {
        return refusal([&] { ReceiptWriter writer(at); }, status);
    }
};

TEST_F(ReceiptFileTest, RowsComeBackAsTheyWereWritten) {
    std::vector<Json> written;
    {
        ReceiptWriter writer(path("deep/er/r.jsonl"));
        EXPECT_EQ(writer.repaired(), 0U);
        for (const char* kind : {"device", "prediction", "ceiling", "kernel"}) {
            written.push_back(writer.append(example::row(kind)));
        }
    }
    const ReceiptFile file = read_receipts(path("deep/er/r.jsonl"));
    EXPECT_EQ(file.rows, written);
    EXPECT_THAT(file.lines, testing::ElementsAre(1, 2, 3, 4));
    EXPECT_TRUE(file.bad.empty());
    EXPECT_FALSE(file.unfinished);
    EXPECT_EQ(example::findings(file), "");
}

TEST_F(ReceiptFileTest, ANewWriterContinuesTheChain) {
    append(2);
    append(3);
    const ReceiptFile file = read_receipts(path());
    EXPECT_EQ(file.rows.size(), 5U);
    EXPECT_EQ(example::findings(file), "");
}

TEST_F(ReceiptFileTest, ARowLongerThanAnyReadStepIsContinued) {
    {
        ReceiptWriter writer(path());
        Json row = example::row("device");
        row["long"] = std::string(300'000, 'x');
        writer.append(row);
    }
    append(1);
    EXPECT_EQ(example::findings(read_receipts(path())), "");
    const std::string whole = read(path());
    write(path(), whole + "{\"schema\":1," + std::string(300'000, ' '));
    ReceiptWriter writer(path());
    EXPECT_EQ(writer.repaired(), 300'012U);
    EXPECT_EQ(read(path()), whole);
}

TEST_F(ReceiptFileTest, TwoOpenWritersSeeEachOthersRows) {
    ReceiptWriter a(path());
    ReceiptWriter b(path());
    for (int i = 0; i < 5; ++i) {
        a.append(example::row("refusal"));
        b.append(example::row("check"));
        b.append(example::row("check"));
    }
    ReceiptWriter moved = std::move(a);
    moved.append(example::row("refusal"));
    const ReceiptFile file = read_receipts(path());
    EXPECT_EQ(file.rows.size(), 16U);
    EXPECT_EQ(example::findings(file), "");
}

// A row is built, another process appends its own, the first is appended: it was written last.
TEST_F(ReceiptFileTest, RowsOfTwoWritersStandInTheOrderOfTheirTimes) {
    ReceiptWriter a(path());
    ReceiptWriter b(path());
    const Json early = example::row("check");
    const Json late = example::row("check");
    ASSERT_LT(early.at("written"), late.at("written"));
    b.append(late);
    EXPECT_GT(a.append(early).at("written"), late.at("written"));
    ReceiptWriter(path()).append(late);  // which finds the last row in the file
    EXPECT_EQ(example::findings(read_receipts(path())).find("before the row above"),
              std::string::npos);
}

TEST_F(ReceiptFileTest, CorruptLinesAreNamedAndTheRestIsRead) {
    append(6);
    const std::string good = read(path());
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < good.size(); at = good.find('\n', at) + 1) {
        lines.push_back(good.substr(at, good.find('\n', at) - at));
    }
    const std::string not_text("\n\xff\0\n", 4);
    write(path(), lines[0] + "\n" + lines[1].substr(0, 99) + "\n" + lines[2] + not_text +
                      "\n{\"schema\":1}\n" + lines[5] + "\n");
    const ReceiptFile file = read_receipts(path());
    EXPECT_THAT(file.lines, testing::ElementsAre(1, 3, 7));
    ASSERT_EQ(file.bad.size(), 4U);
    EXPECT_EQ(file.bad[0].line, 2U);
    EXPECT_THAT(file.bad[0].reason, AllOf(HasSubstr("not valid JSON"), HasSubstr("byte 100")));
    EXPECT_EQ(file.bad[1].line, 4U);
    EXPECT_EQ(file.bad[2].line, 5U);
    EXPECT_THAT(file.bad[3].reason, HasSubstr("\"kind\" is missing"));
    // The row after each gap no longer follows its predecessor.
    EXPECT_THAT(example::findings(file), AllOf(HasSubstr("2: "), HasSubstr("3: prev"),
                                               HasSubstr("4: "), HasSubstr("7: prev")));
}

TEST_F(ReceiptFileTest, AWriterContinuesAfterTheLastValidRow) {
    append(2);
    const std::string good = read(path());
    write(path(), good + "garbage\n");
    append(2);
    const ReceiptFile file = read_receipts(path());
    EXPECT_EQ(file.rows.size(), 4U);
    ASSERT_EQ(file.bad.size(), 1U);
    // Garbage is the only finding: the chain runs over the valid rows.
    EXPECT_THAT(example::findings(file), testing::MatchesRegex("3: [^\n]*\n"));
}

TEST_F(ReceiptFileTest, AFileOfSomethingElseIsLeftAlone) {
    for (const char* other : {"notes without an end", "# Notes\nsecond line\n", "{\"a\":1}",
                              "{\n  \"schema\": 1\n}", "{\"schema\":1}\n", "\n"}) {
        write(path("other"), other);
        EXPECT_THAT(refused_open(path("other"), Status::corrupt), HasSubstr(path("other")))
            << other;
        EXPECT_EQ(read(path("other")), other);
    }
    append(1);
    const std::string odd = read(path()) + "a note";
    write(path(), odd);
    EXPECT_THAT(refused_open(path(), Status::corrupt), HasSubstr("unfinished line"));
    EXPECT_EQ(read(path()), odd);
}

TEST_F(ReceiptFileTest, ARowThatIsNotValidIsNotWritten) {
    append(1);
    const std::string before = read(path());
    ReceiptWriter writer(path());
    Json row = example::row("prediction");
    row["prediction"].erase("limiter");
    EXPECT_THAT(refusal([&] { writer.append(row); }, Status::invalid_argument),
                HasSubstr("prediction.limiter"));
    row = example::row("prediction");
    row["prediction"]["seconds"] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(refusal([&] { writer.append(row); }, Status::internal),
                HasSubstr("/prediction/seconds"));
    EXPECT_THROW(writer.append(Json{{"kind", "check"}, {"schema", 1}}), Error);
    EXPECT_THROW(writer.append(nullptr), Error);
    EXPECT_EQ(read(path()), before);
    writer.append(example::row("check"));
    EXPECT_EQ(example::findings(read_receipts(path())), "");
}

TEST_F(ReceiptFileTest, UnwritablePathsAreNamedWithTheCause) {
    write(path("file"), "x");
    EXPECT_THAT(refused_open(path("file/r.jsonl"), Status::io),
                AllOf(HasSubstr(path("file")), HasSubstr("Not a directory")));
    mkdir(path("folder").c_str(), 0755);
    EXPECT_THAT(refused_open(path("folder"), Status::io),
                AllOf(HasSubstr(path("folder")), HasSubstr("Is a directory")));
    EXPECT_THAT(refused_open(path(std::string(300, 'n')), Status::io), HasSubstr("too long"));
    EXPECT_THAT(refusal([&] { read_receipts(path("none")); }, Status::io),
                AllOf(HasSubstr(path("none")), HasSubstr("No such file")));
    EXPECT_THAT(refusal([&] { read_receipts(path("folder")); }, Status::io),
                HasSubstr("Is a directory"));
}

// In a child that is not root: permissions do not stop root.
TEST_F(ReceiptFileTest, AFileThatMayOnlyBeReadIsNamed) {
    append(1);
    const std::string before = read(path());
    chmod(path().c_str(), 0444);
    const pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(3);
        }
        const std::string why = refused_open(path(), Status::io);
        const bool said = why.find(path()) != std::string::npos &&
                          why.find("Permission denied") != std::string::npos;
        _exit(said ? 42 : 4);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 42);
    EXPECT_EQ(read(path()), before);
}

TEST_F(ReceiptFileTest, AnEmptyFileAndAnUnfinishedOneAreRead) {
    write(path(), "");
    EXPECT_TRUE(read_receipts(path()).rows.empty());
    EXPECT_EQ(example::findings(read_receipts(path())), "");
    append(1);
    write(path(), read(path()) + "{\"sch");
    const ReceiptFile file = read_receipts(path());
    EXPECT_EQ(file.rows.size(), 1U);
    EXPECT_TRUE(file.unfinished);
    EXPECT_TRUE(file.bad.empty());
}

TEST_F(ReceiptFileTest, AFileOfSchema1TakesNoRowsOfSchema2) {
    ReceiptFile old;
    old.rows.push_back(example::as_schema_1(example::row("check")));
    example::chain_again(old);
    const std::string text = dump_json(old.rows[0]) + '\n';
    write(path(), text);
    ASSERT_EQ(read_receipts(path()).rows.size(), 1U);
    try {
        ReceiptWriter writer(path());
        FAIL();
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("holds rows of schema 1; what is written is of "
                                                 "schema 2"));
    }
    EXPECT_EQ(read(path()), text);
}

}  // namespace
}  // namespace raceline
