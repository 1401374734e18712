// SPDX-License-Identifier: Apache-2.0
// What shells offer at the cursor: of the program, by its scripts, in the shells themselves.
#include "completion.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "commands.hpp"
#include "device/catalog.hpp"
#include "raceline/error.hpp"
#include "registry/registry.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The words that are offered, without what they mean.
std::vector<std::string> offered(const std::string& line) {
    const Sandbox box;
    const Outcome run = box.run("__complete \"" + line + "\"");
    EXPECT_EQ(run.exit, 0) << line;
    EXPECT_EQ(run.err, "") << line;
    std::vector<std::string> words;
    for (const std::string& word : run.lines()) {
        words.push_back(word.substr(0, word.find('\t')));
    }
    return words;
}

// An option whose values nobody can offer would be forgotten silently.
TEST(Completion, knows_what_every_option_takes) {
    CLI::App app;
    cli::Options options;
    const std::vector<std::string> known = cli::known_types();
    for (const cli::Command& command : cli::add_commands(app, options)) {
        for (const CLI::Option* option : command.app->get_options()) {
            const std::string type = option->get_type_name();
            if (option->get_items_expected_max() > 0) {
                EXPECT_TRUE(type.find('|') != std::string::npos ||
                            std::ranges::count(known, type) > 0)
                    << command.app->get_name() << " " << option->get_name() << ": " << type;
            }
        }
    }
}

TEST(Completion, offers_commands_and_options) {
    EXPECT_THAT(offered("raceline "),
                AllOf(Contains("predict"), Contains("completion"), Not(Contains("__complete"))));
    EXPECT_THAT(offered("raceline pre"), ElementsAre("predict"));
    EXPECT_THAT(offered("raceline PRE"), ElementsAre("predict"));
    EXPECT_THAT(offered("/some/where/raceline bench --max"), ElementsAre("--max-seconds"));
    EXPECT_THAT(offered("raceline predict --warm --unc"), ElementsAre("--uncalibrated"));
    EXPECT_THAT(offered("raceline --ver"), ElementsAre("--version"));
    EXPECT_THAT(offered("raceline help me"), ElementsAre("measure"));
    EXPECT_THAT(offered("raceline nonsense --de"), IsEmpty());
    EXPECT_THAT(offered("raceline"), Contains("predict"));
}

TEST(Completion, offers_the_names_that_there_are) {
    for (const std::string& id : device_ids()) {
        EXPECT_THAT(offered("raceline predict --device "), Contains(id));
    }
    EXPECT_THAT(offered("raceline predict --device H2"), ElementsAre("h200"));
    EXPECT_THAT(offered("raceline predict --device=h2"), ElementsAre("--device=h200"));
    for (const Kernel& kernel : all_kernels()) {
        EXPECT_THAT(offered("raceline check --kernel "), Contains(std::string(kernel.name)));
    }
    EXPECT_THAT(offered("raceline kernels --diff gqa_i"), ElementsAre("gqa_ilp"));
    for (const std::string& suite : suite_names()) {
        EXPECT_THAT(offered("raceline bench --suite "), Contains(suite));
    }
    EXPECT_THAT(offered("raceline predict --color a"), ElementsAre("auto", "always"));
    EXPECT_THAT(offered("raceline bench --launch-path g"), ElementsAre("graph"));
    EXPECT_THAT(offered("raceline plot r"), ElementsAre("roofline"));
    EXPECT_THAT(offered("raceline plot ladder --track d"), ElementsAre("decode"));
    EXPECT_THAT(offered("raceline point --device h200 --engine wgmma.b"),
                ElementsAre("wgmma.bf16"));
    EXPECT_THAT(offered("raceline check --kernel cpu_flash --tile rows=64"),
                ElementsAre("rows=64,keys=96"));
    EXPECT_THAT(offered("raceline bench --dtype e"), ElementsAre("e4m3"));
    EXPECT_THAT(offered("raceline bench --dtype n"), IsEmpty()) << "nvfp4 is of caches";
    EXPECT_THAT(offered("raceline predict --shape h=8,dtype=n"), IsEmpty());
    EXPECT_THAT(offered("raceline predict --shape h=8,kv=n"), ElementsAre("h=8,kv=nvfp4"));
    EXPECT_THAT(offered("raceline completion z"), ElementsAre("zsh"));
}

// What is offered must run: of the devices those that are there.
TEST(Completion, offers_devices_that_can_run) {
    for (const std::string command : {"bench", "check", "measure"}) {
        const std::vector<std::string> devices = offered("raceline " + command + " --device ");
        EXPECT_THAT(devices, Contains("cpu"));
        for (const std::string& device : devices) {
            const Outcome run = Sandbox().run("devices --device " + device);
            EXPECT_TRUE(device == "replay:" || device == "cuda" ||
                        run.out.find(", live") != std::string::npos)
                << command << ": " << device;
        }
    }
    EXPECT_THAT(offered("raceline bench --device r"), Contains("replay:"));
    EXPECT_THAT(offered("raceline measure --device r"), Not(Contains("replay:")));
}

TEST(Completion, goes_on_with_a_shape) {
    const std::vector<std::string> next = offered("raceline predict --shape h=8,");
    EXPECT_THAT(next, Each(StartsWith("h=8,")));
    EXPECT_EQ(next.size(), shape_fields().size() - 1);
    EXPECT_THAT(offered("raceline predict --shape h=8,dty"), ElementsAre("h=8,dtype="));
    EXPECT_THAT(offered("raceline predict --shape h=8,dtype=b"), ElementsAre("h=8,dtype=bf16"));
    EXPECT_THAT(offered("raceline predict --shape h=8,caus"), ElementsAre("h=8,causal"));
    EXPECT_THAT(offered("raceline predict --shape h=8,scales="),
                ElementsAre("h=8,scales=head", "h=8,scales=token"));
    EXPECT_THAT(offered("raceline predict --shape h=8,accuracy=f"),
                ElementsAre("h=8,accuracy=fast"));
    EXPECT_THAT(offered("raceline predict --op rmsnorm,n=4x4,scales="), IsEmpty());
    // Another name of a field, where it was begun.
    EXPECT_THAT(offered("raceline predict --shape h=8,seq"),
                ElementsAre("h=8,seqlen_q=", "h=8,seqlen_k="));
    EXPECT_THAT(offered("raceline predict --shape h=8,Head"),
                ElementsAre("h=8,headdim=", "h=8,head_dim="));
    EXPECT_THAT(offered("raceline predict --shape h=8,q=1,seqlen_"),
                ElementsAre("h=8,q=1,seqlen_k="));
    EXPECT_THAT(offered("raceline predict --shape h=8,kv_dtype=n"),
                ElementsAre("h=8,kv_dtype=nvfp4"));
    EXPECT_THAT(offered("raceline predict --shape h=8,type=b"), ElementsAre("h=8,type=bf16"));
}

// The names after the last comma of what is offered: "d" of "op=linear,d=".
std::vector<std::string> fields_offered(const std::string& line) {
    std::vector<std::string> fields;
    for (const std::string& word : offered(line)) {
        const std::string last = word.substr(word.rfind(',') + 1);
        fields.push_back(last.substr(0, last.find('=')));
    }
    return fields;
}

// The parser says which fields are given twice: causal and full are one, as are d and mla.
TEST(Completion, repeats_no_field_of_a_shape) {
    for (const ShapeField& given : shape_fields()) {
        if (given.name == "op") {
            continue;  // its value says which fields there are
        }
        const std::string shape(given.written);
        const std::vector<std::string> fields =
            fields_offered("raceline predict --shape " + shape + ",");
        for (const ShapeField& field : shape_fields()) {
            std::string said;
            try {
                (void)parse_shape(shape + "," + std::string(field.written));
            } catch (const Error& error) {
                said = error.what();
            }
            const bool twice = said.find("given twice") != std::string::npos;
            EXPECT_EQ(std::ranges::count(fields, field.name), twice ? 0 : 1)
                << given.name << " then " << field.name;
        }
    }
    EXPECT_THAT(fields_offered("raceline predict --shape heads=8,SEQLEN_K=9,"),
                AllOf(Contains("q"), Not(Contains("h")), Not(Contains("k"))));
}

TEST(Completion, goes_on_with_the_fields_of_an_operation) {
    EXPECT_THAT(offered("raceline predict --op linear,"),
                ElementsAre("linear,m=", "linear,n=", "linear,k=", "linear,eps=", "linear,dtype=",
                            "linear,pass="));
    EXPECT_THAT(offered("raceline predict --op=linear,n=4,k=8,m"),
                ElementsAre("--op=linear,n=4,k=8,m="));
    EXPECT_THAT(fields_offered("raceline predict --shape op=add+rmsnorm,n=8x64,"),
                ElementsAre("d", "eps", "dtype", "pass"));
    EXPECT_THAT(fields_offered("raceline predict --fuse add+rmsnorm,n=8x64,"), Contains("eps"));
    EXPECT_THAT(offered("raceline predict --op linear,m=4,dtype=b"),
                ElementsAre("linear,m=4,dtype=bf16"));
    EXPECT_THAT(offered("raceline predict --op linear,pass=f"), ElementsAre("linear,pass=forward"));
    EXPECT_THAT(offered("raceline predict --op op=lin"), ElementsAre("op=linear"));
    EXPECT_THAT(offered("raceline predict --op op=linear,m=4,dtype=b"),
                ElementsAre("op=linear,m=4,dtype=bf16"));
    EXPECT_THAT(offered("raceline predict --op op=linear,n=4,k=4 --over m"), ElementsAre("m="));
    EXPECT_THAT(offered("raceline predict --shape op=lin"), ElementsAre("op=linear"));
    EXPECT_THAT(offered("raceline predict --op no_such_operation,"), IsEmpty());
    for (const OperationRecord* operation : all_operations()) {
        for (const OperationField& field : operation->fields.value) {
            if (field.kind == FieldKind::word) {
                EXPECT_EQ(offered(fmt::format("raceline predict --op {},{}=", operation->name.value,
                                              field.name))
                              .size(),
                          field.choices.size());
            }
        }
    }
}

TEST(Completion, varies_a_size_that_the_shape_leaves_open) {
    EXPECT_THAT(offered("raceline predict --op linear,n=4,k=8 --over "), ElementsAre("m="));
    EXPECT_THAT(offered("raceline predict --shape h=8,k=64,d=64 --over "),
                ElementsAre("b=", "q=", "window=", "page="));
    EXPECT_THAT(offered("raceline predict --shape=h=8,d=64 --over "),
                ElementsAre("q=", "k="));  // without either nothing else makes it a problem
    EXPECT_THAT(offered("raceline predict --op linear,n=4,k=8 --over m=1:"), IsEmpty());
    EXPECT_THAT(offered("raceline predict --op rmsnorm,n=4x8 --over "),
                ElementsAre("rows=", "width="));
    EXPECT_THAT(offered("raceline predict --over "), IsEmpty());
    EXPECT_THAT(offered("raceline plot sweep --over seqlen_k"), ElementsAre("seqlen_k"));
}

TEST(Completion, offers_a_second_rung) {
    const std::vector<std::string> second = offered("raceline kernels --diff gqa ");
    EXPECT_THAT(second, AllOf(Contains("gqa_ilp"), Not(Contains("gqa"))));
    EXPECT_THAT(offered("raceline kernels --diff gqa gqa_i"), ElementsAre("gqa_ilp"));
    EXPECT_THAT(offered("raceline kernels --diff gqa gqa_ilp "), IsEmpty());
    // An option that may be repeated takes one value at a time.
    EXPECT_THAT(offered("raceline check --kernel cpu_flash cpu"), IsEmpty());
    EXPECT_THAT(offered("raceline check --kernel cpu_flash --kernel cpu_f"),
                ElementsAre("cpu_flash"));
}

TEST(Completion, leaves_files_to_the_shell) {
    for (const char* line : {"raceline report ", "raceline report a.jsonl b", "raceline diff ",
                             "raceline plot roofline ", "raceline bench --receipts r",
                             "raceline predict --rates ", "raceline report --html="}) {
        EXPECT_THAT(offered(line), ElementsAre(":files")) << line;
    }
    EXPECT_THAT(offered("raceline bench --seed "), IsEmpty());
}

TEST(Completion, splits_a_line_as_shells_do) {
    EXPECT_THAT(cli::words_of_line("raceline  predict --device 'NVIDIA H2"),
                ElementsAre("raceline", "predict", "--device", "NVIDIA H2"));
    EXPECT_THAT(cli::words_of_line("a b\\ c \"d e\" "), ElementsAre("a", "b c", "d e", ""));
    EXPECT_THAT(cli::words_of_line(""), ElementsAre(""));
}

bool has(const std::string& program) {
    return std::system((program + " --version >/dev/null 2>&1").c_str()) == 0;
}

// A script of a shell, run where `raceline` is on the path, with its own script loaded.
std::string said_by(const std::string& shell, const std::string& options, const std::string& text) {
    const Sandbox box;
    box.write("touched.jsonl", "");
    EXPECT_EQ(box.run("completion " + shell).exit, 0);
    box.write("script", box.run("completion " + shell).out);
    box.write("test", text);
    return box
        .shell("PATH=" RACELINE_BINARY_DIR ":$PATH HOME=. " + shell + " " + options + " test 2>&1")
        .out;
}

// bash calls the function with the words that it has split at = and :, and takes back the last one.
TEST(Completion, works_in_bash) {
    if (!has("bash")) {
        GTEST_SKIP() << "no bash";
    }
    const std::string said = said_by("bash", "--norc", R"(
source ./script
complete -p raceline
try() {
    COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _raceline
    echo "$COMP_LINE -> ${COMPREPLY[*]}"
}
try 'raceline pre' raceline pre
try 'raceline predict --device h2' raceline predict --device h2
try 'raceline predict --device=h2' raceline predict --device = h2
try 'raceline predict --shape h=8,dtype=b' raceline predict --shape h = 8,dtype = b
try 'raceline predict --op linear,m=4,k' raceline predict --op linear,m = 4,k
try 'raceline kernels --diff gqa gqa_i' raceline kernels --diff gqa gqa_i
try 'raceline report touch' raceline report touch
try 'raceline predict --suite llama3-8 --warm' raceline predict --suite llama3-8
)");
    EXPECT_THAT(said, StartsWith("complete -F _raceline raceline\n"));
    for (const char* line : {"raceline pre -> predict\n", "raceline predict --device h2 -> h200\n",
                             "raceline predict --device=h2 -> h200\n",
                             "raceline predict --shape h=8,dtype=b -> bf16\n",
                             "raceline predict --op linear,m=4,k -> 4,k=\n",
                             "raceline kernels --diff gqa gqa_i -> gqa_ilp\n",
                             "raceline report touch -> touched.jsonl\n"}) {
        EXPECT_THAT(said, testing::HasSubstr(line));
    }
}

// zsh's own functions stand in, as a script cannot press keys.
TEST(Completion, works_in_zsh) {
    if (!has("zsh")) {
        GTEST_SKIP() << "no zsh";
    }
    const std::string said = said_by("zsh", "-f", R"(
compdef() { print -r -- "compdef $*" }
_files() { print -r -- files }
_describe() { print -r -- "$@"; print -rl -- "${(P@)3}" }
source ./script
try() { words=("$@"); CURRENT=$#; _raceline }
try raceline pre
try raceline predict --device H2
try raceline predict --suite random
try raceline predict --op linear,m=4,k
try raceline kernels --diff gqa gqa_i
try raceline report ''
)");
    EXPECT_EQ(said,
              "compdef _raceline raceline\n"
              "-V raceline ready\npredict:Limiter and time, before anything runs\n"
              "-V raceline ready\nh200:NVIDIA H200\n"
              "-V raceline open -S \nrandom\\::and a seed\n"
              "-V raceline open -S \nlinear,m=4,k=:columns of x\n"
              "-V raceline ready\ngqa_ilp:" +
                  std::string(find_kernel("gqa_ilp").rung->changes) +
                  "\n"
                  "files\n");
}

TEST(Completion, works_in_fish) {
    if (!has("fish")) {
        GTEST_SKIP() << "no fish";
    }
    const std::string said = said_by("fish", "--no-config", R"(
source ./script
complete -C 'raceline pre'
complete -C 'raceline predict --device h2'
complete -C 'raceline predict --device=h2'
complete -C 'raceline predict --op linear,m=4,k'
complete -C 'raceline kernels --diff gqa gqa_i'
complete -C 'raceline report touch'
)");
    EXPECT_EQ(said,
              "predict\tLimiter and time, before anything runs\nh200\tNVIDIA H200\n"
              "--device=h200\tNVIDIA H200\nlinear,m=4,k=\tcolumns of x\ngqa_ilp\t" +
                  std::string(find_kernel("gqa_ilp").rung->changes) + "\ntouched.jsonl\n");
}

TEST(Completion, is_installed_where_shells_look) {
    const Sandbox box;
    const std::string install = "cmake --install " RACELINE_BINARY_DIR
                                " --component program --prefix " +
                                box.path("there") + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(install.c_str()), 0);
    const std::string share = box.path("there/share/");
    for (const auto& [file, shell] : {std::pair{"bash-completion/completions/raceline", "bash"},
                                      {"zsh/site-functions/_raceline", "zsh"},
                                      {"fish/vendor_completions.d/raceline.fish", "fish"}}) {
        EXPECT_EQ(Sandbox::read(share + file), box.run(std::string("completion ") + shell).out);
        EXPECT_FALSE(Sandbox::read(share + file).empty()) << file;
    }
}

}  // namespace
}  // namespace raceline::test
