// SPDX-License-Identifier: Apache-2.0
// Where the model's numbers come from: constants with an origin, and no number without one.
#include "model/constant.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {
namespace {

namespace fs = std::filesystem;

constexpr Constant fitted = calibrated("test.fitted", 3, "a receipt", 2, "a manual");
constexpr Constant documented = manual("test.documented", 5, "a page");

TEST(Constant, stands_for_its_value) {
    EXPECT_EQ(fitted * documented, 15);
}

TEST(Constant, a_watch_notes_each_once_and_in_order) {
    const ConstantWatch watch(ConstantWatch::Calibrated::value);
    EXPECT_EQ(documented + fitted + fitted, 11);
    ASSERT_EQ(watch.used().size(), 2);
    EXPECT_EQ(watch.used()[0], documented);
    EXPECT_EQ(watch.used()[1], fitted);
}

TEST(Constant, only_calibrated_ones_have_a_stand_in_under_the_watch) {
    {
        const ConstantWatch watch(ConstantWatch::Calibrated::stand_in);
        EXPECT_EQ(fitted * documented, 10);
        {
            const ConstantWatch inner(ConstantWatch::Calibrated::value);
            EXPECT_EQ(fitted * 1, 3) << "the innermost watch counts";
        }
        EXPECT_EQ(fitted * 1, 2);
    }
    EXPECT_EQ(fitted * 1, 3) << "without a watch";
}

TEST(Constant, a_set_is_known_by_names_and_values_of_the_calibrated_ones) {
    constexpr Constant other = calibrated("test.other", 3, "a receipt", 2, "a manual");
    constexpr Constant changed = calibrated("test.fitted", 3.5, "a receipt", 2, "a manual");
    EXPECT_EQ(calibrated_set({documented}), CalibratedSet{});
    const CalibratedSet one = calibrated_set({documented, fitted});
    EXPECT_EQ(one.count, 1);
    EXPECT_EQ(one.hash.size(), 64);
    EXPECT_EQ(one, calibrated_set({fitted}));
    EXPECT_NE(one, calibrated_set({changed}));
    EXPECT_EQ(calibrated_set({fitted, other}), calibrated_set({other, fitted}));
}

std::string read(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Comments, strings and preprocessor lines become blanks, so that places stay what they were.
std::string only_code(std::string text) {
    const auto blank = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
            text[i] = text[i] == '\n' ? '\n' : ' ';
        }
        return to;
    };
    for (std::size_t i = 0; i < text.size();) {
        if (text.compare(i, 2, "//") == 0 || (text[i] == '#' && (i == 0 || text[i - 1] == '\n'))) {
            i = blank(i, text.find('\n', i));
        } else if (text[i] == '"') {
            std::size_t end = i + 1;
            while (end < text.size() && text[end] != '"') {
                end += text[end] == '\\' ? 2 : 1;
            }
            i = blank(i, end + 1);
        } else {
            ++i;
        }
    }
    return text;
}

bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// What stands in the parentheses of these says where it comes from.
std::string without_sourced(std::string text) {
    for (const std::string_view name :
         {"probe", "manual", "code", "assumed", "calibrated", "counted"}) {
        for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
            const std::size_t open = at + name.size();
            const bool call =
                open < text.size() && text[open] == '(' && (at == 0 || !in_word(text[at - 1]));
            at = open;
            for (int depth = 0; call && at < text.size(); ++at) {
                depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
                const bool end = depth == 0;
                text[at] = text[at] == '\n' ? '\n' : ' ';
                if (end) {
                    break;
                }
            }
        }
    }
    return text;
}

// The size of something: 0, 1 and powers of two. Nobody fits one of these.
bool is_size(std::string_view number) {
    const double value = std::stod(std::string(number));
    for (double power = 1; power <= 1024; power *= 2) {
        if (value == power) {
            return true;
        }
    }
    return value == 0;
}

struct Literal {
    std::size_t line;
    std::string text;
};

std::vector<Literal> unsourced(const std::string& source) {
    const std::string text = without_sourced(only_code(source));
    std::vector<Literal> found;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins = std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
                            (i == 0 || !in_word(text[i - 1]));
        if (!begins) {
            continue;
        }
        std::size_t end = i;
        while (end < text.size() &&
               (in_word(text[end]) || (text[end] == '-' && text[end - 1] == 'e'))) {
            ++end;
        }
        const std::string number = text.substr(i, end - i);
        if (!is_size(number)) {
            const auto before = text.begin() + static_cast<std::ptrdiff_t>(i);
            found.push_back(
                {static_cast<std::size_t>(std::count(text.begin(), before, '\n')) + 1, number});
        }
        i = end;
    }
    return found;
}

TEST(Provenance, the_search_finds_what_has_no_origin_and_nothing_else) {
    const std::string source =
        "#define LIMIT 77\n"
        "// fitted: 3.5\n"
        "const Constant a = manual(\"a\", 3.5, \"page (12)\");\n"
        "double f(double x) { return 2 * x + counted(9, \"a loop\") + 16.0 * a; }\n"
        "double g(double bf16) { return bf16 * 3.5 +\n"
        "    7e-6; }\n";
    const std::vector<Literal> found = unsourced(source);
    ASSERT_EQ(found.size(), 2);
    EXPECT_EQ(found[0].text, "3.5");
    EXPECT_EQ(found[0].line, 5);
    EXPECT_EQ(found[1].text, "7e-6");
    EXPECT_EQ(found[1].line, 6);
}

// A number that is what a word means, no property of a machine or a kernel.
struct Definition {
    const char *file, *text, *why;
};
constexpr std::array definitions{
    Definition{"kernels/decode_sm90/params.hpp", "3", "how often its plan tries"},
    Definition{"kernels/linear_cublaslt/linear_cublaslt.cpp", "75", "a compute capability"},
    Definition{"kernels/linear_cublaslt/linear_cublaslt.cpp", "80", "a compute capability"},
    Definition{"src/model/costs.cpp", "1e-6", "a ratio of sums may fall short of 1 by rounding"},
    Definition{"src/model/costs.hpp", "24", "how many resources a launch may have"},
    Definition{"src/model/error_band.cpp", "20e-6", "the border of two regimes"},
    Definition{"src/model/error_band.cpp", "100e-6", "the border of two regimes"},
    Definition{"src/model/error_band.cpp", "0.95", "a band holds nine of ten"},
    Definition{"src/model/error_band.cpp", "0.05", "a band holds nine of ten"},
    Definition{"src/model/error_band.hpp", "20", "fewer errors give no band"},
    Definition{"src/model/occupancy.cpp", "80", "a compute capability"},
    Definition{"src/model/residents.cpp", "1e-6", "the change that ends an iteration"},
    Definition{"src/model/work_point.cpp", "1.1", "a tenth more"},
    Definition{"src/model/work_point.cpp", "0.03", "what counts as at the roof"},
    Definition{"src/model/work_point.cpp", "1e-30", "the least amount that is accepted"},
    Definition{"src/model/work_point.cpp", "1e30", "the largest amount that is accepted"},
};

// Host files that speak of counts or constants: the model, and what kernels tell it. A file of
// numbers that were read from machine code, or a rung, whose counts are those of its source, may
// instead say so for the whole file in a comment.
std::vector<fs::path> files_of_the_model() {
    const fs::path root = RACELINE_SOURCE_DIR;
    std::vector<fs::path> files;
    for (const char* folder : {"src/model", "src/schedule", "kernels", "ladder", "gpu/tile"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const std::string end = entry.path().extension().string();
            if (end != ".cpp" && end != ".hpp") {
                continue;
            }
            const std::string text = read(entry.path());
            const bool speaks = text.find("\"model/counts.hpp\"") != std::string::npos ||
                                text.find("\"model/constant.hpp\"") != std::string::npos ||
                                text.find("Counts c") != std::string::npos ||
                                text.find("std::vector<Counts>") != std::string::npos ||
                                text.find("\"ladder/decode/counts.hpp\"") != std::string::npos ||
                                text.find("\"ladder/decode/record.hpp\"") != std::string::npos ||
                                entry.path().filename() == "instructions.hpp";
            if (speaks || std::string_view(folder) == "src/model") {
                files.push_back(fs::relative(entry.path(), root));
            }
        }
    }
    return files;
}

TEST(Provenance, every_number_in_counts_clocks_and_model_has_one) {
    const std::vector<fs::path> files = files_of_the_model();
    const auto listed = [&](const char* file) {
        return std::find(files.begin(), files.end(), fs::path(file)) != files.end();
    };
    for (const char* file : {"src/model/waves.cpp", "kernels/prefill_sm90/f16_counts.cpp",
                             "kernels/prefill_mma/counts.cpp", "kernels/cpu_flash/counts.cpp",
                             "kernels/simt/instructions.hpp", "src/schedule/queueing.hpp",
                             "ladder/prefill/online/online.cpp", "ladder/decode/mla/mla.cpp"}) {
        EXPECT_TRUE(listed(file)) << file << " is not looked at";
    }
    for (const fs::path& file : files) {
        const std::string source = read(fs::path(RACELINE_SOURCE_DIR) / file);
        if (source.find("// Provenance of the numbers below: code") != std::string::npos) {
            EXPECT_EQ(source.find("calibrated("), std::string::npos)
                << file << " says that all its numbers are of the code";
            continue;
        }
        for (const Literal& literal : unsourced(source)) {
            const bool defined =
                std::any_of(definitions.begin(), definitions.end(), [&](const Definition& one) {
                    return file == one.file && literal.text == one.text;
                });
            EXPECT_TRUE(defined) << file << ":" << literal.line << ": " << literal.text
                                 << " has no provenance (src/model/constant.hpp)";
        }
    }
}

}  // namespace
}  // namespace raceline
