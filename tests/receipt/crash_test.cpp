// SPDX-License-Identifier: Apache-2.0
// What may go wrong while a row is written: a kill at any moment, a torn write, a full disk, other
// writers. Every reader sees whole rows only, and the next writer goes on.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raceline/error.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Crash : public example::Folder {
protected:
    /// Runs `body` in a child process, which never returns into the test.
    template <class Body>
    static pid_t child(Body body) {
        const pid_t pid = fork();
        if (pid == 0) {
            int code = 0;
            try {
                body();
            } catch (...) {
                code = 3;
            }
            _exit(code);
        }
        return pid;
    }

    /// Waits; the exit code, or minus the signal.
    static int outcome(pid_t pid) {
        int status = 0;
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }

    static std::string refusal(ReceiptWriter& writer) {
        try {
            writer.append(example::row("check"));
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), Status::io);
            return e.what();
        }
        return "accepted";
    }
};

TEST_F(Crash, KilledAtAnyMomentLeavesWholeRows) {
    std::mt19937 random(3);
    std::uniform_int_distribution<useconds_t> moment(0, 12'000);
    std::size_t rows = 0;
    int killed = 0;
    for (int round = 0; round < 120; ++round) {
        const pid_t writing = child([&] {
            ReceiptWriter writer(path());
            for (;;) {
                writer.append(example::row("prediction"));
            }
        });
        usleep(moment(random));
        kill(writing, SIGKILL);
        killed += outcome(writing) == -SIGKILL ? 1 : 0;

        // Checks are of the new rows alone where possible: the whole chain is seen at the end.
        ReceiptWriter writer(path());
        writer.append(example::row("check"));
        const ReceiptFile file = read_receipts(path());
        ASSERT_TRUE(file.bad.empty()) << file.bad[0].line << ": " << file.bad[0].reason;
        ASSERT_FALSE(file.unfinished);
        ASSERT_EQ(example::findings(file), "") << "after kill " << round;
        ASSERT_GT(file.rows.size(), rows);
        rows = file.rows.size();
        if (rows > 200) {
            std::filesystem::remove(path());
            rows = 0;
        }
    }
    EXPECT_EQ(killed, 120);
}

TEST_F(Crash, AWriteTornAtAnyByteIsCutAndContinued) {
    {
        ReceiptWriter writer(path());
        writer.append(example::row("device"));
        writer.append(example::row("kernel"));
    }
    const std::string whole = read(path());
    const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
    for (std::size_t size = last; size < whole.size(); ++size) {
        write(path(), whole.substr(0, size));
        const ReceiptFile torn = read_receipts(path());
        ASSERT_EQ(torn.rows.size(), 1U);
        ASSERT_EQ(torn.unfinished, size > last);
        ASSERT_TRUE(torn.bad.empty());
        ReceiptWriter writer(path());
        ASSERT_EQ(writer.repaired(), size - last);
        ASSERT_EQ(read(path()), whole.substr(0, last));
        writer.append(example::row("check"));
        const ReceiptFile file = read_receipts(path());
        ASSERT_EQ(file.rows.size(), 2U);
        ASSERT_EQ(example::findings(file), "");
    }
}

TEST_F(Crash, ATornFirstRowLeavesAnEmptyFile) {
    {
        ReceiptWriter(path()).append(example::row("device"));
    }
    const std::string whole = read(path());
    for (std::size_t size = 1; size < whole.size(); size += 7) {
        write(path(), whole.substr(0, size));
        ReceiptWriter writer(path());
        ASSERT_EQ(writer.repaired(), size);
        ASSERT_EQ(writer.append(example::row("check")).at("prev"), nullptr);
    }
}

TEST_F(Crash, ATornRowOfAnotherWriterIsCutByTheNextAppend) {
    ReceiptWriter writer(path());
    writer.append(example::row("device"));
    write(path(), read(path()) + "{\"schema\":1,\"ki");
    writer.append(example::row("check"));
    EXPECT_EQ(writer.repaired(), 15U);
    EXPECT_EQ(example::findings(read_receipts(path())), "");
}

TEST_F(Crash, ConcurrentWritersInterleaveWholeRowsInOneChain) {
    constexpr int writers = 4;
    constexpr int rows = 50;
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> running;
    for (int w = 0; w < writers; ++w) {
        running.push_back(child([&, w] {
            char end = 0;
            close(start[1]);
            (void)!::read(start[0], &end, 1);  // Returns when the test closes its end.
            ReceiptWriter writer(path());
            for (int i = 0; i < rows; ++i) {
                Json row = example::row("device");
                row["writer"] = w;
                row["number"] = i;
                writer.append(row);
                usleep(200);  // Lets the others in also where there is one core.
            }
        }));
    }
    close(start[1]);
    close(start[0]);
    for (const pid_t pid : running) {
        EXPECT_EQ(outcome(pid), 0);
    }
    const ReceiptFile file = read_receipts(path());
    EXPECT_EQ(file.rows.size(), std::size_t{writers * rows});
    EXPECT_EQ(example::findings(file), "");
    std::map<int, int> next;
    int changes = 0;
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const int w = file.rows[i].at("writer").get<int>();
        EXPECT_EQ(file.rows[i].at("number").get<int>(), next[w]++);
        changes += i > 0 && file.rows[i - 1].at("writer") != w ? 1 : 0;
    }
    // Else the writers ran one after the other and nothing was shown.
    EXPECT_GE(changes, writers);
}

// A limit on the size of files stands in for a full disk: writes are short, then fail.
TEST_F(Crash, AFullDiskLosesTheRowInFlightAndNoOther) {
    {
        ReceiptWriter(path()).append(example::row("device"));
    }
    const std::string before = read(path());
    for (const rlim_t room : {0, 1, 100}) {
        const int code = outcome(child([&] {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlim_t limit = before.size() + room;
            const rlimit limits{limit, limit};
            ReceiptWriter writer(path());
            if (setrlimit(RLIMIT_FSIZE, &limits) != 0) {
                _exit(4);
            }
            const std::string why = refusal(writer);
            const bool said =
                why.find("disk full") != std::string::npos && why.find(path()) != std::string::npos;
            _exit(said ? 42 : 5);
        }));
        EXPECT_EQ(code, 42);
        EXPECT_EQ(read(path()), before) << "with room for " << room;
    }
    ReceiptWriter writer(path());
    EXPECT_EQ(writer.repaired(), 0U);
    writer.append(example::row("check"));
    EXPECT_EQ(example::findings(read_receipts(path())), "");
}

TEST_F(Crash, AWriterGoesOnWhenThereIsRoomAgain) {
    const int code = outcome(child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        ReceiptWriter writer(path());
        writer.append(example::row("device"));
        rlimit limits{};
        getrlimit(RLIMIT_FSIZE, &limits);
        const rlimit room{std::filesystem::file_size(path()) + 50, limits.rlim_max};
        setrlimit(RLIMIT_FSIZE, &room);
        const bool refused = refusal(writer).find("disk full") != std::string::npos;
        setrlimit(RLIMIT_FSIZE, &limits);
        writer.append(example::row("kernel"));
        _exit(refused ? 42 : 5);
    }));
    EXPECT_EQ(code, 42);
    const ReceiptFile file = read_receipts(path());
    EXPECT_EQ(file.rows.size(), 2U);
    EXPECT_EQ(example::findings(file), "");
}

TEST_F(Crash, ADeviceThatIsAlwaysFullSaysSo) {
    if (access("/dev/full", W_OK) != 0) {
        GTEST_SKIP() << "this system has no /dev/full";
    }
    ReceiptWriter writer("/dev/full");
    EXPECT_THAT(refusal(writer), AllOf(HasSubstr("/dev/full: disk full"), HasSubstr("No space")));
}

}  // namespace
}  // namespace raceline
