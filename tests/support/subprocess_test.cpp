// SPDX-License-Identifier: Apache-2.0
#include "support/subprocess.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

#include "support/time.hpp"

namespace raceline {
namespace {

TEST(Subprocess, gives_what_the_program_wrote_and_no_shell_reads_its_words) {
    EXPECT_EQ(output_of({"printf", "%s;", "a b", "$HOME", "';"}), "a b;$HOME;';;");
    EXPECT_EQ(output_of({"true"}), "");
}

TEST(Subprocess, gives_nothing_of_a_program_that_failed_or_is_not_there) {
    EXPECT_EQ(output_of({"sh", "-c", "echo some; exit 3"}), std::nullopt);
    EXPECT_EQ(output_of({"sh", "-c", "kill -9 $$"}), std::nullopt);
    EXPECT_EQ(output_of({"no-such-program-anywhere"}), std::nullopt);
}

TEST(Subprocess, more_than_a_pipe_holds_comes_through) {
    const auto text = output_of({"sh", "-c", "head -c 1000000 /dev/zero"});
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(text->size(), 1'000'000U);
}

TEST(Subprocess, reads_what_it_is_given_and_nothing_else) {
    const std::string input(1'000'000, 'x');
    EXPECT_EQ(output_of({"cat"}, input), input);
    EXPECT_EQ(output_of({"cat"}), "");
    EXPECT_EQ(output_of({"echo", "unread"}, input), "unread\n");
}

TEST(Subprocess, a_git_hook_does_not_send_git_elsewhere) {
    setenv("GIT_DIR", "/elsewhere", 1);
    setenv("RACELINE_TEST_KEPT", "kept", 1);
    EXPECT_EQ(output_of({"sh", "-c", "echo $GIT_DIR$RACELINE_TEST_KEPT"}), "kept\n");
    unsetenv("GIT_DIR");
    unsetenv("RACELINE_TEST_KEPT");
}

TEST(UtcTime, has_the_form_of_now) {
    EXPECT_EQ(utc_time(0), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(utc_time(1795398245), "2026-11-23T01:44:05.000000Z");
    EXPECT_EQ(utc_time(0).size(), utc_now().size());
}

}  // namespace
}  // namespace raceline
