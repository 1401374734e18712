// SPDX-License-Identifier: Apache-2.0
// Generated parts of pages: markers, and what their blocks say of receipts.
#include "report/docs_page.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "receipt/file.hpp"
#include "receipt/manifest.hpp"
#include "receipt/row.hpp"
#include "registry/registry.hpp"
#include "report/docs_evidence.hpp"
#include "report/docs_peers.hpp"
#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

template <class Call>
std::string error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(DocsPage, a_block_is_replaced_and_the_rest_stays) {
    const auto write = [](const DocsBlock& block) { return block.kind + block.at("of"); };
    EXPECT_EQ(rewrite_page("a\nb <!-- raceline:begin value of=1 -->old<!-- raceline:end --> c\n"
                           "<!-- raceline:begin value of=2 --><!-- raceline:end -->",
                           write),
              "a\nb <!-- raceline:begin value of=1 -->value1<!-- raceline:end --> c\n"
              "<!-- raceline:begin value of=2 -->value2<!-- raceline:end -->");
    EXPECT_EQ(rewrite_page("no block\n", write), "no block\n");
}

TEST(DocsPage, broken_markers_are_named_with_their_line) {
    const auto write = [](const DocsBlock&) { return std::string("new"); };
    const auto of = [&](std::string_view page) {
        return error_of([&] { static_cast<void>(rewrite_page(page, write)); });
    };
    EXPECT_THAT(of("\n<!-- raceline:begin value -->x"), HasSubstr("line 2: block 'value' is not"));
    EXPECT_THAT(of("<!-- raceline:begin a --><!-- raceline:begin b --><!-- raceline:end -->"),
                HasSubstr("block 'a' is not closed"));
    EXPECT_THAT(of("x<!-- raceline:end -->"), HasSubstr("line 1: a marker that is neither"));
    EXPECT_THAT(of("<!-- raceline:begin value of -->x<!-- raceline:end -->"),
                HasSubstr("'of' in the marker of a block must be name=value"));
    EXPECT_THAT(of("<!-- raceline:begin value of=1 of=2 -->x<!-- raceline:end -->"),
                HasSubstr("'of' stands twice"));
}

TEST(DocsPage, a_block_that_differs_is_a_fault_with_line_and_block) {
    const auto write = [](const DocsBlock& block) -> std::string {
        require(block.get("of") != "bad", Status::invalid_argument, "no such row");
        return "1.20";
    };
    const auto faults = check_page(
        "<!-- raceline:begin value of=a -->1.20<!-- raceline:end -->\n"
        "<!-- raceline:begin value of=b -->1.21<!-- raceline:end -->\n"
        "<!-- raceline:begin value of=bad -->1.20<!-- raceline:end -->\n",
        write);
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].line, 2U);
    EXPECT_THAT(faults[0].what, HasSubstr("'value of=b' is not what its receipts say"));
    EXPECT_EQ(faults[1].line, 3U);
    EXPECT_THAT(faults[1].what, HasSubstr("'value of=bad': no such row"));
}

TEST(DocsPage, of_an_output_all_words_are_the_command) {
    const std::string page = rewrite_page(
        "<!-- raceline:begin output raceline devices --device h200 | grep n=1 -->"
        "<!-- raceline:end -->",
        [](const DocsBlock& block) { return block.at("command") + "; " + block.text; });
    EXPECT_THAT(page, HasSubstr("-->raceline devices --device h200 | grep n=1; output raceline "
                                "devices --device h200 | grep n=1<!--"));
}

/// A tree with one committed receipt file, of comparisons whose times a test decides.
class DocsReceipts : public testing::Test {
protected:
    DocsReceipts()
        : root_(fs::temp_directory_path() / ("raceline-docs-" + std::to_string(::getpid()))) {
        fs::remove_all(root_);
        fs::create_directories(root_ / "receipts/cpu");
        fs::create_directories(root_ / "docs");
        std::ofstream(root_ / "docs/evidence.json") << R"({"one":"receipts/cpu/one.jsonl",
            "two":"receipts/cpu/two.jsonl","gone":"receipts/cpu/gone.jsonl"})";
    }
    ~DocsReceipts() override { fs::remove_all(root_); }

    struct Wish {
        std::string file = "one", shape = "h=2,q=512,k=512,d=64,dtype=bf16", peer = "fa2";
        std::string regime = "sustained", device = "Some GPU", hash = "";
        double ours = 1e-4, theirs = 2e-4;
        bool dirty = false, unsettled = false, beyond = false;
    };

    static Measurement measured(double seconds, bool unsettled) {
        Measurement m;
        m.seconds_median = m.seconds_call = seconds;
        m.seconds_low = seconds * (unsettled ? 0.9 : 1);
        m.seconds_high = seconds * (unsettled ? 1.1 : 1);
        m.samples = 21;
        m.unsettled = unsettled;
        m.settled = true;
        return m;
    }

    void add(const Wish& wish) {
        const RowContext context{{"bench/compare.py"}, std::string(40, 'a'), wish.dirty};
        const std::string hash =
            wish.hash.empty() ? std::string(find_kernel("prefill_sm90").source_hash) : wish.hash;
        ComparisonRow row;
        row.about.suite = "a-suite";
        row.about.device = {"cuda", wish.device, "1"};
        row.about.kernel = "prefill_sm90";
        row.about.tile = Json{{"rows", 128}};
        row.about.workload = workload_to_json(parse_shape(wish.shape));
        row.about.launch = {true, "graph", 0, wish.regime};
        row.correctness = PeerVerdict{true, Json{{"relative_rms", 3e-3}, {"bound", 6e-3}}};
        row.measurement = measured(wish.ours, wish.unsettled);
        row.peer = {wish.peer, "1.0", "a backend", measured(wish.theirs, false),
                    PeerVerdict{true, Json{{"relative_rms", 2e-3}, {"bound", 6e-3}}}};
        if (wish.beyond) {
            row.peer.correctness.more["accuracy"] = "fast";
        }
        row.ratio = row.peer.measurement.seconds_median / row.measurement.seconds_median;
        row.ratio_low = row.peer.measurement.seconds_low / row.measurement.seconds_high;
        row.ratio_high = row.peer.measurement.seconds_high / row.measurement.seconds_low;
        ReceiptWriter((root_ / "receipts/cpu" / (wish.file + ".jsonl")).string())
            .append(make_row(context, ComparisonRow::kind, hash, row_to_json(row)));
    }
    struct Timed {
        std::string shape, kernel = "prefill_sm90";
        double predicted = 0, seconds = 0;
        bool unsettled = false;
        std::string device = "Some GPU", file = "one", bound_by = "";
    };
    // As a run begins: with what it knows of its device.
    void add_device(double copy, const std::string& file = "one") {
        const RowContext context{{"raceline", "bench"}, std::string(40, 'b'), false};
        DeviceRow row{{"cuda", "Some GPU", "1"}, Json::object()};
        row.more["state"]["rates"] = Json::object();
        if (copy > 0) {
            row.more["state"]["rates"]["byte.dram_copy"] = {{"value", copy}};
        }
        ReceiptWriter((root_ / "receipts/cpu" / (file + ".jsonl")).string())
            .append(make_row(context, DeviceRow::kind, "", row_to_json(row)));
    }
    void add_timed(const Timed& wish) {
        const RowContext context{{"raceline", "bench"}, std::string(40, 'b'), false};
        const std::string hash(find_kernel(wish.kernel).source_hash);
        RowCase about;
        about.suite = "a-suite";
        about.device = {"cuda", wish.device, "1"};
        about.kernel = wish.kernel;
        about.tile = Json{{"rows", 128}};
        about.workload = workload_to_json(parse_shape(wish.shape));
        if (wish.shape.starts_with("op=")) {
            about.op = about.workload.at("op").get<std::string>();
        }
        about.launch = {true, "graph", 0, "sustained"};
        PredictionRow prediction;
        prediction.bound.limiter = wish.bound_by;
        prediction.about = about;
        prediction.prediction.seconds = wish.predicted;
        prediction.prediction.limiter = prediction.prediction.layer1.limiter = "dram";
        prediction.prediction.layer1.seconds = {{"dram", wish.predicted / 2}};
        prediction.prediction.layer1.bound_seconds = wish.predicted / 2;
        prediction.prediction.layer2 = {{"dram", wish.predicted}};
        prediction.prediction.rates_id = "test";
        prediction.prediction.model_hash = std::string(64, 'a');
        ReceiptWriter writer((root_ / "receipts/cpu" / (wish.file + ".jsonl")).string());
        const Json before =
            writer.append(make_row(context, PredictionRow::kind, hash, row_to_json(prediction)));
        MeasurementRow row;
        row.about = about;
        row.prediction_id = before.at("id").get<std::string>();
        row.correctness.passed = true;
        row.correctness.bound = row.correctness.bound_worst = row.correctness.bound_aligned = 1;
        row.correctness.cases = 1;
        row.measurement = measured(wish.seconds, wish.unsettled);
        writer.append(make_row(context, MeasurementRow::kind, hash, row_to_json(row)));
    }
    void commit() { CommittedReceipts(root_.string()).update_manifest({}); }

    [[nodiscard]] std::string block(const std::string& marker) const {
        DocsEvidence evidence(root_.string());
        return rewrite_page("<!-- raceline:begin " + marker + " --><!-- raceline:end -->",
                            [&](const DocsBlock& one) { return docs_block(evidence, one); });
    }
    [[nodiscard]] std::string refusal(const std::string& marker) const {
        return error_of([&] { static_cast<void>(block(marker)); });
    }

    fs::path root_;
};

TEST_F(DocsReceipts, a_comparison_says_means_least_errors_and_where_it_is_from) {
    add({.ours = 1e-4, .theirs = 2e-4});
    add({.shape = "h=2,q=1024,k=1024,d=64,dtype=bf16", .ours = 1e-4, .theirs = 1.28e-4});
    add({.shape = "h=2,q=512,k=512,d=128,dtype=bf16,causal", .ours = 1e-4, .theirs = 0.9e-4});
    add({.peer = "fa3", .ours = 1e-4, .theirs = 1.5e-4});
    commit();
    const std::string text = block("comparison from=one");
    EXPECT_THAT(text, HasSubstr("*Some GPU, `a-suite`; aaaaaaaaaaaa, 20"));
    EXPECT_THAT(text, HasSubstr("regime interleaved"));
    EXPECT_THAT(text, HasSubstr("`receipts/cpu/one.jsonl`"));
    EXPECT_THAT(text, Not(HasSubstr("changed since")));
    EXPECT_THAT(text, HasSubstr("| FlashAttention-2 | 1.60 | 0.90 | 1.32 | 0.90 |"));
    EXPECT_THAT(text, HasSubstr("| FlashAttention-2 | 3 | 1.500, at most 1.500 |"));
    EXPECT_THAT(text, HasSubstr("| FlashAttention-3 | 1.50 |  | 1.50 | 1.50 |"));
    EXPECT_THAT(text, HasSubstr("| the best of each | 1.39 | 0.90 | 1.20 |"));
    EXPECT_THAT(block("value of=mean-ratio from=one peer=fa2"), HasSubstr(" -->1.32<!--"));
    EXPECT_THAT(block("value of=least-ratio from=one d=64"), HasSubstr(" -->1.28<!--"));
    EXPECT_THAT(block("lengths from=one peer=fa2"),
                HasSubstr("| d64 full | FlashAttention-2 | 2.00 | 1.28 |"));
}

TEST_F(DocsReceipts, a_peer_beyond_our_bounds_is_marked) {
    add({.peer = "fa3", .beyond = true});
    commit();
    EXPECT_THAT(block("comparison from=one"),
                HasSubstr("1.500, at most 1.500 (its error is beyond our bound on 1) |"));
}

TEST_F(DocsReceipts, rows_of_older_code_say_so) {
    add({.hash = std::string(64, '0')});
    commit();
    EXPECT_THAT(block("comparison from=one"),
                HasSubstr("the code has changed since; regime interleaved"));
    EXPECT_THAT(block("value of=mean-ratio from=one"),
                HasSubstr(">2.00 (measured at aaaaaaaaaaaa, 20"));
}

TEST_F(DocsReceipts, unsettled_rows_stand_in_no_figure_and_are_counted) {
    add({});
    add({.shape = "h=2,q=1024,k=1024,d=64,dtype=bf16", .theirs = 9e-4, .unsettled = true});
    commit();
    const std::string text = block("comparison from=one");
    EXPECT_THAT(text, HasSubstr("| FlashAttention-2 | 2.00 | 2.00 | 2.00 |"));
    EXPECT_THAT(text,
                HasSubstr("a time is not settled (its interval is wider than a tenth of it): 1."));
}

TEST_F(DocsReceipts, rows_that_are_not_to_be_compared_are_refused) {
    add({});
    add({.file = "two", .shape = "h=2,q=1024,k=1024,d=64,dtype=bf16", .regime = "alone"});
    commit();
    EXPECT_THAT(refusal("comparison from=one,two"),
                HasSubstr("rows of more than one regime in one table: alone, interleaved"));
    EXPECT_THAT(refusal("value of=mean-ratio from=one,two"), HasSubstr("more than one regime"));
    EXPECT_THAT(refusal("rates from=one beside=two"), HasSubstr("has the shape"));
    add({.device = "Another GPU"});
    fs::remove(root_ / "receipts/manifest.jsonl");
    commit();
    EXPECT_THAT(refusal("comparison from=one"), HasSubstr("more than one device"));
}

TEST_F(DocsReceipts, comparisons_of_two_types_are_refused) {
    add({});
    add({.shape = "h=2,q=512,k=512,d=64,dtype=fp16"});
    commit();
    EXPECT_THAT(refusal("comparison from=one"), HasSubstr("several kernels or types"));
    EXPECT_THAT(block("comparison from=one dtype=fp16"), HasSubstr("in fp16"));
}

TEST_F(DocsReceipts, a_row_that_is_missing_is_refused) {
    add({});
    commit();
    EXPECT_THAT(refusal("comparison from=three"),
                HasSubstr("'three' is not in docs/evidence.json"));
    EXPECT_THAT(refusal("comparison from=gone"), HasSubstr("is not in receipts/manifest.jsonl"));
    EXPECT_THAT(refusal("comparison from=one peer=fa4"), HasSubstr("no row that this block asks"));
    EXPECT_THAT(refusal("comparison"), HasSubstr("needs from=..."));
    EXPECT_THAT(refusal("picture from=one"), HasSubstr("no kind of block 'picture'; it must be"));
    EXPECT_THAT(refusal("value of=luck from=one"), HasSubstr("of=luck is no figure"));
    fs::remove(root_ / "receipts/cpu/one.jsonl");
    EXPECT_THAT(refusal("comparison from=one"), HasSubstr("one.jsonl: cannot open for reading"));
}

TEST_F(DocsReceipts, a_row_that_was_edited_or_is_of_uncommitted_code_is_refused) {
    add({});
    commit();
    const fs::path path = root_ / "receipts/cpu/one.jsonl";
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    text.replace(text.find("\"ratio\":2.0"), 11, "\"ratio\":3.0");
    std::ofstream(path) << text;
    EXPECT_THAT(refusal("comparison from=one"),
                HasSubstr("is not as receipts/manifest.jsonl says"));
    // Also where the manifest was written anew.
    fs::remove(root_ / "receipts/manifest.jsonl");
    commit();
    EXPECT_THAT(refusal("comparison from=one"), HasSubstr("receipts/cpu/one.jsonl: line 1:"));
    add({.file = "two", .dirty = true});
    commit();
    EXPECT_THAT(refusal("comparison from=two"), HasSubstr("a row of uncommitted code"));
}

TEST_F(DocsReceipts, errors_of_predictions_are_of_settled_rows) {
    add_timed(Timed{"h=2,q=512,k=512,d=64,dtype=bf16", "prefill_sm90", 1.2e-4, 1e-4});
    add_timed(Timed{"h=2,q=513,k=513,d=64,dtype=bf16", "prefill_sm90", 0.95e-4, 1e-4});
    add_timed(Timed{"h=2,q=514,k=514,d=64,dtype=bf16", "prefill_sm90", 0.5e-4, 1e-4, true});
    add_timed(Timed{"h=2,q=512,k=512,d=64,dtype=bf16", "prefill_mma", 0.7e-4, 1e-4});
    commit();
    const std::string text = block("accuracy from=one");
    EXPECT_THAT(text, HasSubstr("regime sustained"));
    EXPECT_THAT(text, HasSubstr("| `prefill_mma` | 1 | 30.0 % | 30.0 % | -30.0 % | 0.0 % | 0.0 % "
                                "| 30.0 % |"));
    EXPECT_THAT(text, HasSubstr("| `prefill_sm90` | 2 | 12.5 % | 18.5 % | +7.5 % | 50.0 % | 100.0 "
                                "% | 20.0 % |"));
    EXPECT_THAT(block("value of=worst-first-sight"),
                HasSubstr(">Worst at first sight: of the engines prefill_mma on "));
    EXPECT_THAT(block("scorecard"), HasSubstr("prefill_sm90 |"));
    EXPECT_THAT(block("value of=median-error from=one kernel=prefill_sm90"), HasSubstr(">12.5 %<"));
    const std::string cases = block("cases from=one shapes=h=2,q=513,k=513,d=64,dtype=bf16");
    EXPECT_THAT(cases, HasSubstr("| dram | 95.0 µs | 100 µs | -5.0 % |"));
    EXPECT_THAT(refusal("cases from=one shapes=h=2,q=514,k=514,d=64,dtype=bf16"),
                HasSubstr("no settled row has the shape"));
}

TEST_F(DocsReceipts, rates_stand_beside_rows_of_the_same_shape_and_regime) {
    add_timed(Timed{"h=2,q=512,k=512,d=64,dtype=e4m3", "prefill_sm90_fp8", 1e-4, 1e-4});
    add_timed(Timed{"h=2,q=512,k=512,d=64,dtype=bf16", "prefill_sm90", 1e-4, 1.5e-4, false,
                    "Some GPU", "two"});
    commit();
    // 4 × 2 heads × 512² × 64 in 100 and 150 µs.
    EXPECT_THAT(block("rates from=one beside=two"),
                HasSubstr("| d64 full, 512 tokens | 1.34 TFLOP/s | 895 GFLOP/s | 1.50 |"));
    EXPECT_THAT(block("value of=rate from=one"), HasSubstr(">1.34 TFLOP/s<"));
    add({.file = "two", .ours = 1e-4});  // an interleaved row
    fs::remove(root_ / "receipts/manifest.jsonl");
    commit();
    EXPECT_THAT(refusal("rates from=one beside=two"), HasSubstr("more than one regime"));
    EXPECT_THAT(refusal("value of=rate from=two"), HasSubstr("2 rows where one is asked for"));
}

TEST_F(DocsReceipts, shares_of_the_copy_ceiling_are_of_large_rows_that_memory_bounds) {
    add_device(1e12);
    const auto timed = [&](const std::string& shape, double seconds, const std::string& bound_by) {
        Timed wish{shape, "rows_cuda", seconds, seconds};
        wish.bound_by = bound_by;
        add_timed(wish);
    };
    // 16384 rows of 8192 in 2 bytes, read and written: 537 MB.
    timed("op=relu,n=16384x8192,dtype=bf16", 0.8e-3, "dram");
    timed("op=relu,n=16384x8192,dtype=bf16", 0.6e-3, "dram");  // again, and faster
    timed("op=silu,n=16384x8192,dtype=bf16", 0.55e-3, "dram");
    timed("op=gelu,n=16384x8192,dtype=bf16", 0.9e-3, "flop.fma.fp32");  // arithmetic bounds it
    timed("op=exp,n=1024x8192,dtype=bf16", 0.9e-3, "dram");             // 34 MB
    commit();
    const std::string text = block("copy-share from=one goal=92");
    EXPECT_THAT(text, HasSubstr("1 receipt, 20"));
    EXPECT_THAT(text, HasSubstr("copy ceiling 1.00 TB/s"));
    EXPECT_THAT(text,
                HasSubstr("As each was measured last, it is missed by 1 of 2 operations:\n\n"));
    EXPECT_THAT(
        text, HasSubstr("| `relu,n=16384x8192,bf16` | 537 MB | 600 µs | 89.5 (67.1) | bbbbbbb |"));
    EXPECT_THAT(text, HasSubstr("It is met by:\n\n"));
    EXPECT_THAT(text, HasSubstr("| `silu,n=16384x8192,bf16` | 537 MB | 550 µs | 97.6 | bbbbbbb |"));
    EXPECT_THAT(text, Not(HasSubstr("gelu")));
    EXPECT_THAT(text, Not(HasSubstr("exp")));
    EXPECT_THAT(block("copy-share from=one goal=80"), HasSubstr("missed by 0 of 2 operations.\n"));
    EXPECT_THAT(refusal("copy-share from=one goal=much"), HasSubstr("goal=much must be a whole"));
    EXPECT_THAT(refusal("copy-share from=one"), HasSubstr("needs goal=..."));
}

TEST_F(DocsReceipts, a_share_of_a_ceiling_that_nobody_measured_is_refused) {
    add_device(0);
    Timed wish{"op=relu,n=16384x8192,dtype=bf16", "rows_cuda", 1e-3, 1e-3};
    wish.bound_by = "dram";
    add_timed(wish);
    commit();
    EXPECT_THAT(refusal("copy-share from=one goal=92"),
                HasSubstr("one.jsonl has no measured copy ceiling"));
}

// To mend it: name the file in docs/evidence.json and in the marker of docs/operations.md.
TEST(DocsPages, shares_of_the_copy_ceiling_leave_no_run_of_operations_out) {
    const fs::path root(RACELINE_SOURCE_DIR);
    std::ifstream names(root / "docs/evidence.json"), in(root / "docs/operations.md");
    const Json evidence = Json::parse(names);
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    int files = 0;
    for (const std::string place : {"h200", "cpu"}) {
        for (const auto& entry : fs::directory_iterator(root / "receipts" / place)) {
            const std::string file = entry.path().filename().string();
            if (file.find("compare") == std::string::npos &&
                (file.find("-operations-") != std::string::npos ||
                 file.find("-layer-") != std::string::npos)) {
                ++files;
                const std::string path = "receipts/" + place + "/" + file;
                const auto named = std::ranges::find_if(
                    evidence.items(), [&](const auto& one) { return one.value() == path; });
                ASSERT_NE(named, evidence.items().end()) << path;
                const std::size_t marker = page.find("copy-share from=");
                EXPECT_TRUE(page.find("=" + named.key() + ",", marker) != std::string::npos ||
                            page.find("," + named.key() + ",", marker) != std::string::npos ||
                            page.find("," + named.key() + " ", marker) != std::string::npos)
                    << path;
            }
        }
    }
    EXPECT_GE(files, 20);
}

TEST(DocsPeers, cudnn_has_a_version_of_three_numbers) {
    EXPECT_EQ(version_in_words("cudnn", "91900 in PyTorch 2.11.0"), "9.19.0 in PyTorch 2.11.0");
    EXPECT_EQ(version_in_words("cudnn", "8907"), "8907") << "the numbering of before 9";
    EXPECT_EQ(version_in_words("fa3", "025110"), "025110");
}

// To mend it: make docs. What commands print is compared by the program (test_cli, DocsOutput).
TEST(DocsPages, are_what_the_receipts_say) {
    const fs::path root(RACELINE_SOURCE_DIR);
    std::vector<fs::path> pages{root / "README.md"};
    for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
        if (entry.path().extension() == ".md") {
            pages.push_back(entry.path());
        }
    }
    DocsEvidence evidence(root.string());
    int blocks = 0;
    for (const fs::path& page : pages) {
        std::ifstream in(page);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const auto faults = check_page(text, [&](const DocsBlock& one) {
            ++blocks;
            return docs_block(evidence, one);
        });
        for (const DocsFault& fault : faults) {
            if (fault.what.starts_with("block 'output ")) {
                continue;
            }
            ADD_FAILURE() << page << ": line " << fault.line << ": " << fault.what;
        }
    }
    EXPECT_GE(blocks, 40);
}

}  // namespace
}  // namespace raceline
