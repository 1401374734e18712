// SPDX-License-Identifier: Apache-2.0
// Every example that --help prints must work as printed, and every suite must be named.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <sstream>

#include "cli/program.hpp"
#include "plot/gnuplot.hpp"
#include "support/text_style.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline::test {
namespace {

std::vector<std::string> examples_of(const Outcome& help) {
    std::vector<std::string> found;
    bool inside = false;
    for (const std::string& line : help.lines()) {
        inside = inside || line.find("Examples:") != std::string::npos;
        const std::size_t at = line.find("raceline ");
        if (inside && at != std::string::npos && line.find_first_not_of(' ') == at) {
            found.push_back(line.substr(at + 9));
        }
    }
    return found;
}

TEST(Help, every_example_runs) {
    const Sandbox box;
    // What the report examples read.
    ASSERT_EQ(box.run("bench --device cpu --receipts FILE.jsonl --shape "
                      "b=1,h=2,q=64,k=64,d=64,dtype=fp32")
                  .exit,
              0);
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    box.write("README.md", "A page without generated parts.\n");
    std::set<std::string> ran;  // what two pages show needs to work once
    for (const char* command : {"", "devices", "kernels", "measure", "predict", "check", "bench",
                                "report", "point", "plot", "diff", "completion", "help"}) {
        if (command == std::string("plot") && !gnuplot_is_there()) {
            continue;
        }
        const Outcome help = box.run(std::string(command) + " --help");
        ASSERT_EQ(help.exit, 0) << command;
        const std::vector<std::string> examples = examples_of(help);
        EXPECT_GE(examples.size(), 1U) << "no example in " << command << " --help";
        for (const std::string& example : examples) {
            if (!ran.insert(example).second) {
                continue;
            }
            const Outcome run = box.run(example);
            // A scorecard has no row of a tree with changes, such as this one may be; and on a busy
            // machine no row settles.
            const std::string said = run.out + run.err;
            const std::size_t why = said.find("Nothing to draw: ");
            const bool nothing =
                why != std::string::npos && said.find("settled", why) != std::string::npos;
            EXPECT_EQ(run.exit, nothing ? 2 : 0) << "raceline " << example << "\n" << run.err;
        }
    }
    EXPECT_GE(ran.size(), 12U);
}

TEST(Help, names_every_suite) {
    const Sandbox box;
    for (const char* command : {"predict", "check", "bench"}) {
        const Outcome help = box.run(std::string(command) + " --help");
        // The groups stand between two headings, a line each.
        const std::size_t from = help.out.find("Suites:\n");
        const std::size_t to = help.out.find("Examples:\n");
        ASSERT_TRUE(from < to && to != std::string::npos) << help.out;
        std::istringstream lists(help.out.substr(from, to - from));
        const std::set<std::string> words{std::istream_iterator<std::string>(lists), {}};
        for (const std::string& name : suite_names()) {
            EXPECT_TRUE(words.contains(name)) << command << " --help: " << name;
        }
        EXPECT_TRUE(words.contains("random:SEED"));
        EXPECT_TRUE(words.contains("serving:SEED"));
        EXPECT_TRUE(words.contains("operations-any:SEED"));
    }
}

TEST(Help, is_a_command_too) {
    const Sandbox box;
    EXPECT_EQ(box.run("help").out, box.run("--help").out);
    for (const char* command : {"predict", "bench", "completion", "help"}) {
        const Outcome help = box.run(std::string("help ") + command);
        EXPECT_EQ(help.exit, 0) << help.err;
        EXPECT_EQ(help.out, box.run(std::string(command) + " --help").out) << command;
        EXPECT_THAT(help.out, testing::HasSubstr(std::string("Usage: raceline ") + command));
    }
}

// Each field as the grammar has it, at the beginning of a line.
TEST(Help, names_every_field_of_a_shape) {
    const Sandbox box;
    for (const char* command : {"predict", "check", "bench"}) {
        const Outcome help = box.run(std::string(command) + " --help");
        for (const ShapeField& field : shape_fields()) {
            EXPECT_THAT(help.out, testing::HasSubstr("\n  " + std::string(field.written) + " "))
                << command;
        }
        for (const OperationRecord* operation : all_operations()) {
            const std::string_view example = operation->examples.value.front();
            const std::string name(example.substr(0, example.find(',')));
            if (operation->name.value != Workload{}.op) {
                EXPECT_THAT(help.out, testing::HasSubstr("\n  " + name));
            }
            for (const std::string_view step : operation->chain == nullptr
                                                   ? std::span<const std::string_view>()
                                                   : operation->chain->steps) {
                EXPECT_THAT(help.out, testing::HasSubstr(std::string(step)));
            }
        }
        for (const DTypeNames& type : dtype_names()) {
            EXPECT_THAT(help.out, testing::HasSubstr(std::string(name_of(type.dtype))));
        }
    }
}

TEST(Help, fits_its_columns_but_for_examples) {
    const Sandbox box;
    for (const std::size_t columns : {80U, 100U, 140U}) {
        const Outcome help = box.run("bench --help", "COLUMNS=" + std::to_string(columns));
        for (const std::string& line : help.lines()) {
            if (line.find("  raceline ") == std::string::npos) {
                EXPECT_LE(text_width(line), columns) << line;
            }
        }
    }
}

}  // namespace
}  // namespace raceline::test
