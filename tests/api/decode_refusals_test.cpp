// SPDX-License-Identifier: Apache-2.0
// Every decode call that is refused, and every workspace.
#include "tests/api/refusal.hpp"

namespace raceline {
namespace {

using tests::ample;
using tests::DecodeFault;
using tests::expect_refused;
using tests::most;
using tests::name_of_fault;
using tests::WorkloadCall;

class RefusedDecode : public testing::TestWithParam<DecodeFault> {};

TEST_P(RefusedDecode, LeavesTheOutputAlone) {
    WorkloadCall call("b=2,h=4/2,q=1,k=40;17,d=64,dtype=fp32,page=16");
    DecodeArgs args = call.decode_args();
    args.options.checked = true;
    GetParam().plant(call, args);
    expect_refused(call, args, ample(), GetParam().status, GetParam().said);
}

const std::uint32_t small_tree[3] = {1, 1, 1};

const DecodeFault decode_faults[] = {
    {"NegativePage", [](WorkloadCall& c, DecodeArgs&) { c.inputs.block_table[1] = -1; },
     "block_table[0][1] is page -1; the caches have pages 0 to"},
    {"PageTooLarge",
     [](WorkloadCall& c, DecodeArgs& a) {
         c.inputs.block_table[static_cast<std::size_t>(a.block_table_stride) + 1] =
             static_cast<std::int32_t>(a.k_cache.shape[0]);
     },
     "block_table[1][1] is page"},
    {"NegativeUsedLength", [](WorkloadCall& c, DecodeArgs&) { c.inputs.seqlens_k[1] = -3; },
     "seqlens_k[1] is -3; it must be 0 to max_seqlen_k (40)"},
    {"UsedLengthOverMax", [](WorkloadCall& c, DecodeArgs&) { c.inputs.seqlens_k[0] = 41; },
     "seqlens_k[0] is 41"},
    {"LengthsReadUnchecked",
     [](WorkloadCall& c, DecodeArgs& a) {
         a.options.checked = false;
         c.inputs.seqlens_k[0] = 41;
     },
     "seqlens_k[0] is 41"},
    {"NegativeMax", [](WorkloadCall&, DecodeArgs& a) { a.max_seqlen_k = -1; },
     "max_seqlen_k is -1"},
    {"TableTooNarrow", [](WorkloadCall&, DecodeArgs& a) { a.block_table_stride = 2; },
     "block_table_stride is 2; max_seqlen_k 40 needs 3 pages of 16 tokens"},
    {"HugeMax", [](WorkloadCall&, DecodeArgs& a) { a.max_seqlen_k = most; },
     "max_seqlen_k is 9223372036854775807"},
    {"HugeTable", [](WorkloadCall&, DecodeArgs& a) { a.block_table_stride = most; },
     "block_table_stride is 9223372036854775807"},
    {"EmptyPages",
     [](WorkloadCall&, DecodeArgs& a) { a.k_cache.shape[1] = a.v_cache.shape[1] = 0; },
     "k_cache has pages of 0 tokens"},
    {"CacheTypes", [](WorkloadCall&, DecodeArgs& a) { a.v_cache.dtype = DType::bf16; },
     "v_cache has dtype bf16; it must be k_cache's, fp32"},
    {"CacheTypeOther",
     [](WorkloadCall&, DecodeArgs& a) { a.k_cache.dtype = a.v_cache.dtype = DType::bf16; },
     "k_cache has dtype bf16; caches have q's, fp32, or e4m3"},
    {"ScalesWithoutE4m3",
     [](WorkloadCall&, DecodeArgs& a) {
         static const float scale[4] = {1, 1, 1, 1};
         a.k_scale = scale;
     },
     "only e4m3 caches have scales"},
    {"TokenScalesWithoutE4m3",
     [](WorkloadCall&, DecodeArgs& a) {
         static float scale[1000];
         a.k_token_scale = a.v_token_scale = TensorView::contiguous(
             scale, DType::fp32, {a.k_cache.shape[0], a.k_cache.shape[1], a.k_cache.shape[2]});
     },
     "k_token_scale is given for fp32 caches; only e4m3 caches have scales"},
    {"TokenScalesOfKeysAlone",
     [](WorkloadCall&, DecodeArgs& a) {
         static float scale[1000];
         a.k_token_scale = TensorView::contiguous(scale, DType::fp32, {1, 16, 2});
     },
     "k_token_scale is given without v_token_scale"},
    {"PagesDiffer", [](WorkloadCall&, DecodeArgs& a) { a.v_cache.shape[0] -= 1; },
     "v_cache has shape"},
    {"OutputOverCache", [](WorkloadCall& c, DecodeArgs& a) { a.v_cache.data = c.out.data(); },
     "out overlaps v_cache in memory"},
    {"OutputOverTable",
     [](WorkloadCall& c, DecodeArgs& a) {
         a.block_table = reinterpret_cast<const std::int32_t*>(c.out.data());
     },
     "out overlaps block_table in memory"},
    {"TreeWithCausal",
     [](WorkloadCall&, DecodeArgs& a) {
         a.tree = small_tree;
         a.options.causal = true;
     },
     "causal with a tree: the tree says which new tokens a token sees"},
    {"TreeWithWindow",
     [](WorkloadCall&, DecodeArgs& a) {
         a.tree = small_tree;
         a.options.window = std::pair(3, -1);
     },
     "window with a tree"},
    {"TreeBitOfNoToken",
     [](WorkloadCall&, DecodeArgs& a) {
         static const std::uint32_t words[2] = {1, 0x11};
         a.tree = words;
     },
     "tree[1][0] is 0x11, with bit 4 set; 1 new tokens a sequence have bits 0 to 0"},
    {"TreeBitReadUnchecked",
     [](WorkloadCall&, DecodeArgs& a) {
         static const std::uint32_t words[2] = {2, 1};
         a.tree = words;
         a.options.checked = false;
     },
     "tree[0][0] is 0x2, with bit 1 set"},
    {"OutputOverTree",
     [](WorkloadCall& c, DecodeArgs& a) {
         a.tree = reinterpret_cast<const std::uint32_t*>(c.out.data());
     },
     "out overlaps tree in memory"},
    {"TreeMisaligned",
     [](WorkloadCall&, DecodeArgs& a) {
         a.tree =
             reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(small_tree) + 1);
     },
     "tree"},
    {"CapacityTooSmall",
     [](WorkloadCall& c, DecodeArgs& a) {
         a.block_table = nullptr;
         a.k_cache = TensorView::contiguous(c.k.data(), DType::fp32, {2, 30, 2, 64});
         a.v_cache = TensorView::contiguous(c.v.data(), DType::fp32, {2, 30, 2, 64});
     },
     "max_seqlen_k is 40; k_cache holds 30 tokens a sequence"},
};
INSTANTIATE_TEST_SUITE_P(Faults, RefusedDecode, testing::ValuesIn(decode_faults),
                         name_of_fault<testing::TestParamInfo<DecodeFault>>);

class RefusedPackedDecode : public testing::TestWithParam<DecodeFault> {};

TEST_P(RefusedPackedDecode, LeavesTheOutputAlone) {
    WorkloadCall call("b=3,h=4/2,q=2;1;4,k=40;17;9,d=64,dtype=fp32,page=16");
    DecodeArgs args = call.decode_args();
    GetParam().plant(call, args);
    expect_refused(call, args, ample(), GetParam().status, GetParam().said);
}

const DecodeFault packed_faults[] = {
    {"FirstNotZero", [](WorkloadCall& c, DecodeArgs&) { c.inputs.cu_seqlens_q[0] = 1; },
     "cu_seqlens_q[0] is 1; prefix sums start at 0"},
    {"Falls", [](WorkloadCall& c, DecodeArgs&) { c.inputs.cu_seqlens_q[2] = 1; },
     "cu_seqlens_q[2] is 1 after 2: sequence 1 would have a negative length"},
    {"EndsElsewhere", [](WorkloadCall& c, DecodeArgs&) { c.inputs.cu_seqlens_q[3] = 6; },
     "cu_seqlens_q ends at 6; it must end at q's 7 tokens"},
    {"BoundTooSmall", [](WorkloadCall&, DecodeArgs& a) { a.max_seqlen_q = 3; },
     "max_seqlen_q is 3; cu_seqlens_q has a sequence of 4 tokens"},
    {"BoundTooSmallForAll", [](WorkloadCall&, DecodeArgs& a) { a.max_seqlen_q = 2; },
     "max_seqlen_q is 2; the 7 tokens of q need 4 sequences of so many, cu_seqlens_q has 3"},
    {"NegativeBound", [](WorkloadCall&, DecodeArgs& a) { a.max_seqlen_q = -1; },
     "max_seqlen_q is -1"},
    {"NegativeCount", [](WorkloadCall&, DecodeArgs& a) { a.cu_seqlens_count = -3; },
     "cu_seqlens_count is -3; it must be batch + 1"},
    {"HugeCount", [](WorkloadCall&, DecodeArgs& a) { a.cu_seqlens_count = most; },
     "cu_seqlens_count is 9223372036854775807"},
    {"NoSequences", [](WorkloadCall&, DecodeArgs& a) { a.cu_seqlens_count = 1; },
     "cu_seqlens_q has 0"},
    {"SumsWithoutCount", [](WorkloadCall&, DecodeArgs& a) { a.cu_seqlens_count = 0; },
     "cu_seqlens_q is given, but cu_seqlens_count is 0; it must be batch + 1"},
    {"BoundWithoutCount",
     [](WorkloadCall&, DecodeArgs& a) {
         a.cu_seqlens_count = 0;
         a.cu_seqlens_q = nullptr;
     },
     "max_seqlen_q is 4 without cu_seqlens_q"},
    {"CountWithoutSums", [](WorkloadCall&, DecodeArgs& a) { a.cu_seqlens_q = nullptr; },
     "cu_seqlens_q is a null pointer; it must point to 16 bytes"},
    {"NotPacked",
     [](WorkloadCall&, DecodeArgs& a) {
         a.q.shape.insert(a.q.shape.begin(), 1);
         a.q.strides.insert(a.q.strides.begin(), 0);
     },
     "q has 4 sizes and 4 strides; this call takes 3 of each"},
    {"OutputNotPacked", [](WorkloadCall&, DecodeArgs& a) { a.out.shape[0] = 6; },
     "out has shape (6, 4, 64); it must be (total, heads_q, headdim_v) = (7, 4, 64)"},
    {"SumsOfThree", [](WorkloadCall&, DecodeArgs& a) { a.lse.shape[0] = 6; },
     "lse has shape (6, 4); it must be (total, heads_q) = (7, 4)"},
    {"OutputOverSums",
     [](WorkloadCall& c, DecodeArgs& a) {
         a.cu_seqlens_q = reinterpret_cast<const std::int32_t*>(c.out.data());
     },
     "out overlaps cu_seqlens_q in memory"},
    {"TreeBitOfNoToken",
     [](WorkloadCall&, DecodeArgs& a) {
         static const std::uint32_t words[7] = {1, 3, 2, 1, 3, 5, 9};
         a.tree = words;
     },
     "tree[2] is 0x2, with bit 1 set; the 1 new tokens of sequence 1 have bits 0 to 0"},
};
INSTANTIATE_TEST_SUITE_P(Faults, RefusedPackedDecode, testing::ValuesIn(packed_faults),
                         name_of_fault<testing::TestParamInfo<DecodeFault>>);

TEST(DecodeRefusals, ASequenceAboveTheDefaultBound) {
    WorkloadCall call("b=2,h=2,q=17;3,k=40;40,d=64,dtype=fp32,page=16");
    DecodeArgs args = call.decode_args();
    args.max_seqlen_q = 0;
    expect_refused(call, args, ample(), Status::invalid_argument,
                   "max_seqlen_q is 16 where none is given; cu_seqlens_q has a sequence of 17");
}

TEST(DecodeRefusals, MoreTokensThanAWordHasBits) {
    WorkloadCall call("b=1,h=2,q=33,k=40,d=64,dtype=fp32");
    DecodeArgs args = call.decode_args();
    const std::vector<std::uint32_t> words(33, 1);
    args.tree = words.data();
    expect_refused(call, args, ample(), Status::invalid_argument,
                   "seqlen_q is 33 with a tree: a token's word has a bit for each of at most 32");
}

// The table of a call may be columns of a wider one: what stands behind its last row is not its.
TEST(DecodeRefusals, TheOutputMayLieBehindASliceOfATable) {
    WorkloadCall call("b=2,h=2,q=1,k=40;33,d=64,dtype=fp32,page=16");
    DecodeArgs args = call.decode_args();
    constexpr std::int64_t columns = 512;
    std::vector<std::int32_t> table(2 * columns + 4096);
    for (std::int64_t row = 0; row < 2; ++row) {
        std::copy_n(args.block_table + row * args.block_table_stride, 3,
                    table.data() + row * columns);
    }
    args.block_table = table.data();
    args.block_table_stride = columns;
    args.options.checked = true;
    args.out.data = table.data() + columns;
    expect_refused(call, args, ample(), Status::invalid_argument,
                   "out overlaps block_table in memory");
    args.out.data = table.data() + columns + 64;
    EXPECT_NO_THROW(decode(args, ample()));
}

// A call that needs a workspace, given one that will not do.
class RefusedWorkspace : public testing::Test {
protected:
    WorkloadCall call{"b=1,h=4,q=64,k=300,d=64,dtype=fp32"};
    ForwardArgs args = call.forward_args();
    std::size_t needed = forward_workspace(args, Place::cpu);
    void SetUp() override { ASSERT_GT(needed, 0U) << "choose a shape that needs a workspace"; }
};

TEST_F(RefusedWorkspace, TooSmall) {
    Execution execution = ample();
    execution.workspace_bytes = needed - 1;
    expect_refused(call, args, execution, Status::invalid_argument,
                   fmt::format("workspace has {} bytes; this call needs {}", needed - 1, needed));
}

TEST_F(RefusedWorkspace, Null) {
    Execution execution;
    execution.workspace_bytes = needed;
    expect_refused(call, args, execution, Status::invalid_argument, "workspace is a null pointer");
}

TEST_F(RefusedWorkspace, Misaligned) {
    Execution execution = ample();
    execution.workspace = static_cast<std::byte*>(execution.workspace) + 16;
    expect_refused(call, args, execution, Status::invalid_argument, "not a multiple of 64 bytes");
}

TEST_F(RefusedWorkspace, OverTheOutput) {
    Execution execution = ample();
    args.lse = {};
    auto* const start = static_cast<std::byte*>(execution.workspace);
    std::memset(start, 0xff, needed);
    args.out.data = start + 256;
    expect_refused(call, args, execution, Status::invalid_argument,
                   "workspace overlaps out in memory");
    for (std::size_t i = 0; i < needed; ++i) {
        ASSERT_EQ(start[i], std::byte{0xff});
    }
}

TEST_F(RefusedWorkspace, OverAnInput) {
    Execution execution = ample();
    args.k.data = static_cast<std::byte*>(execution.workspace) + 256;
    expect_refused(call, args, execution, Status::invalid_argument,
                   "workspace overlaps k in memory");
}

TEST_F(RefusedWorkspace, ExactlyEnoughIsEnough) {
    const tests::Workspace exact(needed);
    EXPECT_NO_THROW(forward(args, exact.execution));
}

TEST(Refused, NoSuchPlace) {
    WorkloadCall call("b=1,h=1,q=1,k=1,d=8,dtype=fp32");
    Execution execution = ample();
    execution.place = static_cast<Place>(9);
    expect_refused(call, call.forward_args(), execution, Status::invalid_argument, "place is 9");
}

}  // namespace
}  // namespace raceline
