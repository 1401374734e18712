// SPDX-License-Identifier: Apache-2.0
// Every forward call that is refused.
#include <gmock/gmock.h>

#include "tests/api/refusal.hpp"

namespace raceline {
namespace {

using tests::ample;
using tests::expect_refused;
using tests::ForwardFault;
using tests::most;
using tests::name_of_fault;
using tests::WorkloadCall;

class RefusedForward : public testing::TestWithParam<ForwardFault> {};

TEST_P(RefusedForward, LeavesTheOutputAlone) {
    WorkloadCall call("b=2,h=4/2,q=5,k=9,d=64,dtype=fp32");
    ForwardArgs args = call.forward_args();
    GetParam().plant(call, args);
    expect_refused(call, args, ample(), GetParam().status, GetParam().said);
}

const ForwardFault forward_faults[] = {
    {"HeadsNotAMultiple",
     [](WorkloadCall&, ForwardArgs& a) { a.q.shape[2] = a.out.shape[2] = a.lse.shape[2] = 3; },
     "q has 3 heads and k has 2; q's must be a multiple of k's"},
    {"NoKvHeads", [](WorkloadCall&, ForwardArgs& a) { a.k.shape[2] = a.v.shape[2] = 0; },
     "q has 4 heads and k has 0"},
    {"HeadDimTooLarge",
     [](WorkloadCall& c, ForwardArgs& a) {
         c.q.resize(std::size_t{1} << 20);
         c.k.resize(std::size_t{1} << 20);
         a.q = TensorView::contiguous(c.q.data(), DType::fp32, {2, 5, 4, 4000});
         a.k = TensorView::contiguous(c.k.data(), DType::fp32, {2, 9, 2, 4000});
     },
     "headdim is 4000"},
    {"HeadDimNotServed",
     [](WorkloadCall& c, ForwardArgs& a) {
         c.q.resize(std::size_t{1} << 20);
         c.k.resize(std::size_t{1} << 20);
         a.q = TensorView::contiguous(c.q.data(), DType::fp32, {2, 5, 4, 1000});
         a.k = TensorView::contiguous(c.k.data(), DType::fp32, {2, 9, 2, 1000});
     },
     "head dim 1000", Status::unsupported},
    {"HeadDimZero", [](WorkloadCall&, ForwardArgs& a) { a.q.shape[3] = a.k.shape[3] = 0; },
     "q's head dim is 0"},
    {"HeadDimsDiffer", [](WorkloadCall&, ForwardArgs& a) { a.k.shape[3] = 32; },
     "k has shape (2, 9, 2, 32); it must be (batch, seqlen_k, heads_kv, headdim) = (2, 9, 2, 64)"},
    {"LengthsDiffer", [](WorkloadCall&, ForwardArgs& a) { a.v.shape[1] = 8; },
     "v has shape (2, 8, 2, 64)"},
    {"OutputShape", [](WorkloadCall&, ForwardArgs& a) { a.out.shape[3] = 32; },
     "out has shape (2, 5, 4, 32)"},
    {"LseShape",
     [](WorkloadCall& c, ForwardArgs& a) {
         a.lse = TensorView::contiguous(c.lse.data(), DType::fp32, {2, 4, 5});
     },
     "lse has shape (2, 4, 5); it must be (batch, seqlen_q, heads_q) = (2, 5, 4)"},
    {"LseType", [](WorkloadCall&, ForwardArgs& a) { a.lse.dtype = DType::bf16; },
     "lse has dtype bf16; it is always fp32"},
    {"Rank", [](WorkloadCall&, ForwardArgs& a) { a.q.shape.pop_back(); },
     "q has 3 sizes and 4 strides; this call takes 4 of each"},
    {"KType", [](WorkloadCall&, ForwardArgs& a) { a.k.dtype = DType::fp16; },
     "k has dtype fp16; it must be q's, fp32"},
    {"OutputType", [](WorkloadCall&, ForwardArgs& a) { a.out.dtype = DType::bf16; },
     "out has dtype bf16; it must be q's, fp32"},
    {"BlockType",
     [](WorkloadCall&, ForwardArgs& a) {
         a.q.dtype = a.k.dtype = a.v.dtype = a.out.dtype = DType::nvfp4;
     },
     "q has dtype nvfp4"},
    {"EightBitOutput",
     [](WorkloadCall&, ForwardArgs& a) {
         a.q.dtype = a.k.dtype = a.v.dtype = a.out.dtype = DType::e4m3;
     },
     "out has dtype e4m3; it must be bf16 where q, k and v are e4m3"},
    {"EightBitKeysAlone", [](WorkloadCall&, ForwardArgs& a) { a.k.dtype = DType::e4m3; },
     "k has dtype e4m3; it must be q's, fp32"},
    {"ScaleOfWideType",
     [](WorkloadCall&, ForwardArgs& a) { a.k_scale = reinterpret_cast<const float*>(64); },
     "q_scale, k_scale or v_scale is given for fp32 tensors; only e4m3 has scales"},
    {"UnknownType", [](WorkloadCall&, ForwardArgs& a) { a.q.dtype = static_cast<DType>(77); },
     "q has dtype ? (77)"},
    {"ZeroStrideOutput", [](WorkloadCall&, ForwardArgs& a) { a.out.strides[0] = 0; },
     "out's strides (0, 256, 64, 1) alias for shape (2, 5, 4, 64)"},
    {"OverlappingStrideOutput", [](WorkloadCall&, ForwardArgs& a) { a.out.strides[2] = 63; },
     "out's strides (1280, 256, 63, 1) alias"},
    {"AliasingLse", [](WorkloadCall&, ForwardArgs& a) { a.lse.strides = {20, 3, 1}; },
     "lse's strides (20, 3, 1) alias"},
    {"NegativeStride", [](WorkloadCall&, ForwardArgs& a) { a.k.strides[1] = -128; },
     "k's stride 1 is -128; it must not be negative"},
    {"StridedHeadDim", [](WorkloadCall&, ForwardArgs& a) { a.k.strides[3] = 2; },
     "k's last stride is 2; the head dimension must be contiguous"},
    {"NegativeLength", [](WorkloadCall&, ForwardArgs& a) { a.k.shape[1] = a.v.shape[1] = -9; },
     "k's size 1 is -9"},
    {"HugeLength", [](WorkloadCall&, ForwardArgs& a) { a.q.shape[1] = most; }, "q's size 1 is 92"},
    {"HugeStride", [](WorkloadCall&, ForwardArgs& a) { a.q.strides[0] = most; },
     "larger than memory can be"},
    {"NullQueries", [](WorkloadCall&, ForwardArgs& a) { a.q.data = nullptr; },
     "q is a null pointer"},
    {"NullValues", [](WorkloadCall&, ForwardArgs& a) { a.v.data = nullptr; },
     "v is a null pointer"},
    {"NullOutput", [](WorkloadCall&, ForwardArgs& a) { a.out.data = nullptr; },
     "out is a null pointer"},
    {"OddAddress",
     [](WorkloadCall&, ForwardArgs& a) { a.q.data = static_cast<std::byte*>(a.q.data) + 1; },
     "q starts at an address that is not a multiple of its element's 4 bytes"},
    {"OutputOverQueries", [](WorkloadCall& c, ForwardArgs& a) { a.q.data = c.out.data(); },
     "out overlaps q in memory"},
    {"OutputOverValuesEnd",
     [](WorkloadCall& c, ForwardArgs& a) { a.v.data = c.out.data() + c.out.size() - 4; },
     "out overlaps v in memory"},
    {"OutputOverLse", [](WorkloadCall& c, ForwardArgs& a) { a.lse.data = c.out.data() + 64; },
     "out overlaps lse in memory"},
    {"LseOverKeys", [](WorkloadCall& c, ForwardArgs& a) { a.k.data = c.lse.data(); },
     "lse overlaps k in memory"},
    {"NegativeThreads", [](WorkloadCall&, ForwardArgs& a) { a.options.threads = -1; },
     "threads is -1"},
    {"BadSoftcap",
     [](WorkloadCall&, ForwardArgs& a) {
         a.options.softcap = std::numeric_limits<double>::quiet_NaN();
     },
     "softcap is nan"},
    {"SoftcapThatIsNoFloat", [](WorkloadCall&, ForwardArgs& a) { a.options.softcap = 1e39; },
     "softcap is 1e+39; it must be 0 (none) or a positive float32"},
    {"ScaleThatIsNoFloat", [](WorkloadCall&, ForwardArgs& a) { a.options.scale = 1e39; },
     "scale is 1e+39; it must be a float32 above 0"},
    {"SoftcapBelowAnyFloat", [](WorkloadCall&, ForwardArgs& a) { a.options.softcap = 1e-50; },
     "softcap is 1e-50"},
    {"ScaleBelowAnyFloat", [](WorkloadCall&, ForwardArgs& a) { a.options.scale = 1e-50; },
     "scale is 1e-50"},
    {"QuotientThatIsNoFloat",
     [](WorkloadCall&, ForwardArgs& a) {
         a.options.softcap = 1e-37;
         a.options.scale = 1e10;
     },
     "divided by it is more than a float32 holds"},
    {"BoundWithoutSums", [](WorkloadCall&, ForwardArgs& a) { a.max_seqlen_q = 8; },
     "max_seqlen_q is 8 and max_seqlen_k 0 without prefix sums"},
    {"SumsOfADeviceOnACpu",
     [](WorkloadCall&, ForwardArgs& a) {
         a.device_cu_seqlens_count = 3;
         for (TensorView* view : {&a.q, &a.k, &a.v, &a.out, &a.lse}) {
             view->shape.erase(view->shape.begin());
             view->strides.erase(view->strides.begin());
         }
     },
     "cu_seqlens_q and cu_seqlens_k are empty; a ragged call on a CPU needs them"},
    {"BadScale", [](WorkloadCall&, ForwardArgs& a) { a.options.scale = -1; }, "scale is -1"},
    {"UnknownBackend", [](WorkloadCall&, ForwardArgs& a) { a.options.backend = "cpu_flsh"; },
     "did you mean 'cpu_flash'?"},
};

// Lengths that a GPU alone knows: what the bounds leave possible is checked before the call.
TEST(ForwardOfDeviceLengths, BoundsMustHoldAllTokens) {
    ForwardArgs args;
    args.q = TensorView::contiguous(nullptr, DType::bf16, {300, 8, 128});
    args.k = args.v = TensorView::contiguous(nullptr, DType::bf16, {500, 2, 128});
    args.out = args.q;
    args.device_cu_seqlens_count = 3;
    EXPECT_GT(predict_forward(args, "h200").seconds, 0);
    const auto said = [&](std::int64_t most_q, std::int64_t most_k, std::int64_t count) {
        args.max_seqlen_q = most_q;
        args.max_seqlen_k = most_k;
        args.device_cu_seqlens_count = count;
        try {
            return std::to_string(predict_forward(args, "h200").seconds > 0);
        } catch (const Error& error) {
            return std::string(error.what());
        }
    };
    EXPECT_EQ(said(150, 250, 3), "1");
    EXPECT_THAT(
        said(149, 250, 3),
        testing::HasSubstr("max_seqlen_q is 149; the 300 tokens of q need a longer one in 2"));
    EXPECT_THAT(said(150, 249, 3), testing::HasSubstr("max_seqlen_k is 249; the 500 tokens of k"));
    EXPECT_THAT(said(-1, 250, 3), testing::HasSubstr("max_seqlen_q is -1; a length must be 0 to"));
    EXPECT_THAT(said(150, 250, 1), testing::HasSubstr("q has 300 tokens, but there are no sequ"));
    EXPECT_THAT(said(150, 250, -4), testing::HasSubstr("device_cu_seqlens_count is -4"));
}

INSTANTIATE_TEST_SUITE_P(Faults, RefusedForward, testing::ValuesIn(forward_faults),
                         name_of_fault<testing::TestParamInfo<ForwardFault>>);

TEST(EightBitForward, IsRefusedWithEveryReasonWhereNoKernelServesIt) {
    WorkloadCall call("b=2,h=4/2,q=5,k=9,d=64,dtype=e4m3");
    ForwardArgs args = call.forward_args();
    expect_refused(call, args, ample(), Status::unsupported,
                   "prefill_sm90_fp8: it runs on CUDA GPUs");
    expect_refused(call, args, ample(), Status::unsupported,
                   "cpu_flash: queries of type e4m3 are not read");
    args.v_scale = reinterpret_cast<const float*>(call.out.data());
    expect_refused(call, args, ample(), Status::invalid_argument, "out overlaps v_scale in memory");
}

TEST(EightBitForward, IsPredictedOnHopper) {
    WorkloadCall call("b=2,h=4/2,q=500,k=900,d=64,dtype=e4m3,causal");
    EXPECT_EQ(predict_forward(call.forward_args(), "h200").kernel, "prefill_sm90_fp8");
    EXPECT_THROW(predict_forward(call.forward_args(), "rtx4090"), Error);
}

class RefusedRagged : public testing::TestWithParam<ForwardFault> {
protected:
    WorkloadCall call{"b=3,h=2,q=4;0;6,k=3;5;2,d=16,dtype=fp32"};
};

TEST_P(RefusedRagged, LeavesTheOutputAlone) {
    ForwardArgs args = call.forward_args();
    GetParam().plant(call, args);
    expect_refused(call, args, ample(), GetParam().status, GetParam().said);
}

const ForwardFault ragged_faults[] = {
    {"Falls", [](WorkloadCall& c, ForwardArgs&) { c.sums_q[2] = 3; },
     "cu_seqlens_q[2] is 3 after 4: sequence 1 would have a negative length"},
    {"EndsEarly", [](WorkloadCall& c, ForwardArgs&) { c.sums_k[3] = 9; },
     "cu_seqlens_k ends at 9; it must end at k's 10 tokens"},
    {"EndsLate", [](WorkloadCall& c, ForwardArgs&) { c.sums_k[3] = 11; },
     "cu_seqlens_k ends at 11; it must end at k's 10 tokens"},
    {"DoesNotStartAtZero", [](WorkloadCall& c, ForwardArgs&) { c.sums_q[0] = 1; },
     "cu_seqlens_q[0] is 1; prefix sums start at 0"},
    {"CountsDiffer",
     [](WorkloadCall& c, ForwardArgs& a) { a.cu_seqlens_k = std::span(c.sums_k).first(3); },
     "cu_seqlens_q has 4 entries and cu_seqlens_k has 3"},
    {"OneSideOnly", [](WorkloadCall&, ForwardArgs& a) { a.cu_seqlens_k = {}; },
     "cu_seqlens_k has 0"},
    {"FixedShapes",
     [](WorkloadCall&, ForwardArgs& a) {
         a.q = TensorView::contiguous(a.q.data, DType::fp32, {1, 10, 2, 16});
     },
     "q has 4 sizes and 4 strides; this call takes 3 of each"},
};
INSTANTIATE_TEST_SUITE_P(Faults, RefusedRagged, testing::ValuesIn(ragged_faults),
                         name_of_fault<testing::TestParamInfo<ForwardFault>>);

}  // namespace
}  // namespace raceline
