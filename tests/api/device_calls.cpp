// SPDX-License-Identifier: Apache-2.0
// The API over device memory. A program of its own, run on a GPU machine by
// tools/device_quickstart.sh: where there is no GPU there is nothing to test, so ctest has no
// entry.
#include <gtest/gtest.h>

#include "api/workload_call.hpp"
#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline::tests {
namespace {

/// Device copies of whatever a call's arguments point to.
class Mirror {
public:
    template <class T>
    T* place(T* host, std::size_t bytes) {
        if (host == nullptr) {
            return nullptr;
        }
        buffers_.emplace_back(bytes + 1);
        cuda::upload(buffers_.back().data(), host, bytes);
        return reinterpret_cast<T*>(buffers_.back().data());
    }
    void* place_bytes(const std::vector<std::byte>& host) {
        return place(const_cast<std::byte*>(host.data()), host.size());
    }

private:
    std::vector<cuda::DeviceBuffer> buffers_;
};

/// A call with every pointer on the device; the output starts poisoned.
class DeviceCall {
public:
    explicit DeviceCall(const std::string& shape, Layout layout = Layout::packed)
        : host_(shape, layout) {
        const Workload& w = host_.workload;
        decode_ = w.page_size != 0 || w.mla || w.tree != 0 || !host_.inputs.seqlens_k.empty();
        out_ = mirror_.place(host_.out.data(), host_.out.size());
        lse_ = mirror_.place(host_.lse.data(), host_.lse.size());
        void* q = mirror_.place_bytes(host_.q);
        void* k = mirror_.place_bytes(host_.k);
        void* v = w.mla ? k : mirror_.place_bytes(host_.v);
        const Inputs& in = host_.inputs;
        const auto* sinks =
            mirror_.place(const_cast<float*>(or_null(in.sinks)), in.sinks.size() * sizeof(float));
        if (decode_) {
            decode_args = host_.decode_args();
            set_pointers(decode_args.q, q, decode_args.out, decode_args.lse);
            decode_args.k_cache.data = k;
            decode_args.v_cache.data = v;
            decode_args.options.sinks = sinks;
            decode_args.seqlens_k = place_list(in.seqlens_k);
            decode_args.tree = place_list(in.tree);
            decode_args.cu_seqlens_q = place_list(in.cu_seqlens_q);
            decode_args.block_table = place_list(in.block_table);
            decode_args.k_scale = place_list(in.k_scale);
            decode_args.v_scale = place_list(in.v_scale);
            if (w.has_token_scales()) {
                decode_args.k_token_scale.data = const_cast<float*>(place_list(in.k_token_scale));
                decode_args.v_token_scale.data = const_cast<float*>(place_list(in.v_token_scale));
            }
        } else {
            forward_args = host_.forward_args();
            set_pointers(forward_args.q, q, forward_args.out, forward_args.lse);
            forward_args.k.data = k;
            forward_args.v.data = v;
            forward_args.options.sinks = sinks;
            forward_args.q_scale = place_list(in.q_scale);
            forward_args.k_scale = place_list(in.k_scale);
            forward_args.v_scale = place_list(in.v_scale);
            forward_args.device_cu_seqlens_q = place_list(host_.sums_q);
            forward_args.device_cu_seqlens_k = place_list(host_.sums_k);
        }
        allocate();
    }

    /// A ragged forward whose sums are read on the device alone.
    void bound_lengths(std::int64_t most_q, std::int64_t most_k) {
        forward_args.device_cu_seqlens_count = host_.workload.batch + 1;
        forward_args.cu_seqlens_q = forward_args.cu_seqlens_k = {};
        forward_args.max_seqlen_q = most_q;
        forward_args.max_seqlen_k = most_k;
        allocate();
    }

    void enqueue(void* stream) {
        execution_.stream = stream;
        if (decode_) {
            decode(decode_args, execution_);
        } else {
            forward(forward_args, execution_);
        }
    }

    Correctness verdict() {
        download();
        const std::string device = live_cuda().value().id;
        const PredictedTime time =
            decode_ ? predict_decode(decode_args, device) : predict_forward(forward_args, device);
        return host_.verdict(find_kernel(time.kernel).precision(host_.workload));
    }
    std::vector<std::byte> download() {
        cuda::download(host_.out.data(), out_, host_.out.size());
        cuda::download(host_.lse.data(), lse_, host_.lse.size());
        return {host_.out.data(), host_.out.data() + host_.out.size()};
    }
    bool untouched() {
        download();
        return host_.out.untouched();
    }
    void poison() { cuda::fill(out_, output_poison, host_.out.size()); }

    ForwardArgs forward_args;
    DecodeArgs decode_args;
    WorkloadCall& host() { return host_; }
    Mirror& mirror() { return mirror_; }

private:
    void allocate() {
        const std::size_t bytes = decode_ ? decode_workspace(decode_args, Place::cuda)
                                          : forward_workspace(forward_args, Place::cuda);
        workspace_ = cuda::DeviceBuffer(bytes + 1);
        cuda::fill(workspace_.data(), 0xff, bytes + 1);
        execution_ = {Place::cuda, nullptr, workspace_.data(), bytes};
    }
    template <class T>
    static const T* or_null(const std::vector<T>& list) {
        return list.empty() ? nullptr : list.data();
    }
    template <class T>
    const T* place_list(const std::vector<T>& list) {
        return mirror_.place(const_cast<T*>(or_null(list)), list.size() * sizeof(T));
    }
    void set_pointers(TensorView& q, void* q_data, TensorView& out, TensorView& lse) {
        q.data = q_data;
        out.data = out_;
        lse.data = lse_;
    }

    WorkloadCall host_;
    Mirror mirror_;
    bool decode_ = false;
    void* out_ = nullptr;
    void* lse_ = nullptr;
    cuda::DeviceBuffer workspace_;
    Execution execution_;
};

class OnDevice : public testing::TestWithParam<const char*> {};

TEST_P(OnDevice, answers_as_float64_does) {
    for (const Layout layout : {Layout::packed, Layout::heads_first}) {
        const Workload workload = parse_shape(GetParam());
        if (layout == Layout::heads_first && (workload.ragged() || workload.page_size != 0)) {
            continue;  // packed tokens and pages have one layout
        }
        DeviceCall call(GetParam(), layout);
        const cuda::Stream stream;
        call.enqueue(stream.get());
        stream.synchronize();
        const Correctness verdict = call.verdict();
        EXPECT_TRUE(verdict.passed) << GetParam() << ": " << verdict.why;
        EXPECT_TRUE(call.host().out.guards_hold());
    }
}

TEST_P(OnDevice, a_replayed_graph_gives_the_same_bits) {
    DeviceCall call(GetParam());
    const cuda::Stream stream;
    call.enqueue(stream.get());
    stream.synchronize();
    const std::vector<std::byte> first = call.download();
    const cuda::Graph graph(stream, [&](void* s, int) { call.enqueue(s); }, 2);
    for (int replay = 0; replay < 3; ++replay) {
        call.poison();
        cuda::synchronize();
        graph.launch(stream);
        stream.synchronize();
        EXPECT_EQ(first, call.download()) << GetParam() << " replay " << replay;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, OnDevice,
    testing::Values("b=2,h=8/2,q=65,k=130,d=64,dtype=bf16,causal",
                    "b=1,h=4,q=200,k=200,d=128,dtype=fp16", "b=2,h=2,q=33,k=97,d=72/40,dtype=fp32",
                    "b=1,h=8,q=129,k=1000,d=128,dtype=bf16,causal,window=100",
                    "h=4/1,q=37;0;64,k=37;5;64,d=64,dtype=bf16,causal",
                    "b=1,h=8/2,q=1,k=3000,d=128,dtype=bf16,sinks,softcap=20",
                    "b=3,h=16/2,q=1,k=1000;17;513,d=128,dtype=bf16,page=16",
                    "b=2,h=8/2,q=1,k=300;70,d=64,dtype=bf16,kv=e4m3,page=64",
                    "b=2,h=8/2,q=1,k=300;70,d=64,dtype=bf16,kv=e4m3,scales=token,page=64",
                    "b=3,h=16/2,q=4;0;16,k=1000;17;513,d=128,dtype=bf16,page=16,causal",
                    "b=3,h=8/2,q=6;1;3,k=300;70;9,d=64,dtype=bf16,page=64,tree=3",
                    "b=2,h=8/2,q=40;3,k=300;70,d=64,dtype=fp16,page=64,causal",
                    "b=1,h=16/1,q=1,k=133,mla=512+64,dtype=bf16",
                    "b=1,h=2,q=20,k=10,d=64,dtype=fp16,causal"));

TEST(OnDevice, a_replayed_graph_follows_the_numbers_of_new_tokens) {
    DeviceCall call("b=3,h=16/2,q=4;0;16,k=1000;17;513,d=128,dtype=bf16,page=16,causal");
    auto* const on_device = const_cast<std::int32_t*>(call.decode_args.cu_seqlens_q);
    const cuda::Stream stream;
    call.enqueue(stream.get());
    stream.synchronize();
    std::vector<std::byte> before = call.download();
    const cuda::Graph graph(stream, [&](void* s, int) { call.enqueue(s); }, 1);
    for (const std::vector<std::int32_t>& sums :
         {std::vector<std::int32_t>{0, 16, 16, 20}, {0, 5, 9, 20}, {0, 7, 20, 20}}) {
        cuda::upload(on_device, sums.data(), sums.size() * sizeof(std::int32_t));
        call.poison();
        cuda::synchronize();
        graph.launch(stream);
        stream.synchronize();
        const std::vector<std::byte> replayed = call.download();
        EXPECT_NE(replayed, before);
        call.poison();
        cuda::synchronize();
        call.enqueue(stream.get());
        stream.synchronize();
        before = call.download();
        EXPECT_EQ(replayed, before);
    }
}

constexpr const char* ragged_calls[] = {
    "h=8/2,q=37;0;64;200,k=37;5;64;300,d=128,dtype=bf16,causal",
    "h=8/2,q=37;0;64;200,k=37;5;64;300,d=64,dtype=fp16,window=40",
    "h=4,q=37;0;64;200,k=37;5;64;300,d=256,dtype=bf16",
    "h=4/1,q=37;0;64;200,k=37;5;64;300,d=72,dtype=fp32,causal",
};

// Bounds as tight as they can be, loose ones, and none.
TEST(OnDevice, ragged_lengths_need_not_be_known_on_the_host) {
    for (const char* shape : ragged_calls) {
        for (const auto& [most_q, most_k] : {std::pair(200, 300), {290, 310}, {0, 0}}) {
            DeviceCall call(shape);
            call.bound_lengths(most_q, most_k);
            call.enqueue(nullptr);
            const Correctness verdict = call.verdict();
            EXPECT_TRUE(verdict.passed) << shape << ' ' << most_q << ": " << verdict.why;
        }
    }
}

TEST(OnDevice, a_replayed_graph_follows_ragged_lengths_of_prefill) {
    for (const char* shape : ragged_calls) {
        DeviceCall call(shape);
        call.bound_lengths(290, 400);
        auto* const sums_q = const_cast<std::int32_t*>(call.forward_args.device_cu_seqlens_q);
        auto* const sums_k = const_cast<std::int32_t*>(call.forward_args.device_cu_seqlens_k);
        const cuda::Stream stream;
        call.enqueue(stream.get());
        stream.synchronize();
        std::vector<std::byte> before = call.download();
        const cuda::Graph graph(stream, [&](void* s, int) { call.enqueue(s); }, 1);
        for (const auto& [lengths_q, lengths_k] : {std::pair("290;1;0;10", "300;1;5;100"),
                                                   {"1;100;100;100", "1;105;200;100"},
                                                   {"75;75;75;76", "101;102;101;102"}}) {
            const std::string fields = std::string(shape);
            const std::string other = fields.substr(0, fields.find("q=")) + "q=" + lengths_q +
                                      ",k=" + lengths_k + fields.substr(fields.find(",d="));
            DeviceCall fresh(other);
            cuda::copy(sums_q, fresh.forward_args.device_cu_seqlens_q, 5 * sizeof(*sums_q));
            cuda::copy(sums_k, fresh.forward_args.device_cu_seqlens_k, 5 * sizeof(*sums_k));
            call.poison();
            cuda::synchronize();
            graph.launch(stream);
            stream.synchronize();
            const std::vector<std::byte> replayed = call.download();
            EXPECT_NE(replayed, before) << other;
            call.poison();
            cuda::synchronize();
            call.enqueue(stream.get());
            stream.synchronize();
            before = call.download();
            EXPECT_EQ(replayed, before) << other;
            fresh.bound_lengths(290, 400);
            fresh.enqueue(nullptr);
            const Correctness verdict = fresh.verdict();
            EXPECT_TRUE(verdict.passed) << other << ": " << verdict.why;
        }
    }
}

TEST(OnDevice, wrong_sums_are_refused_where_checked) {
    DeviceCall call("b=3,h=16/2,q=4;0;16,k=1000;17;513,d=128,dtype=bf16,page=16,causal");
    const std::vector<std::int32_t> sums{0, 5, 3, 20};
    call.decode_args.cu_seqlens_q =
        call.mirror().place(const_cast<std::int32_t*>(sums.data()), sums.size() * 4);
    call.decode_args.options.checked = true;
    try {
        call.enqueue(nullptr);
        FAIL() << "sums that fall were accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        EXPECT_NE(std::string(error.what()).find("cu_seqlens_q[2] is 3 after 5"), std::string::npos)
            << error.what();
    }
    EXPECT_TRUE(call.untouched());
}

TEST(OnDevice, eight_bit_tensors_with_scales_on_hopper) {
    if (live_cuda().value().compute_capability != 90) {
        GTEST_SKIP() << "no other GPU has a forward for e4m3";
    }
    for (const char* shape : {"b=2,h=8/2,q=130,k=300,d=128,dtype=e4m3,causal",
                              "h=4/1,q=37;0;64,k=37;5;64,d=64,dtype=e4m3,causal"}) {
        if (parse_shape(shape).ragged()) {
            DeviceCall bounded(shape);
            bounded.bound_lengths(80, 90);
            bounded.enqueue(nullptr);
            EXPECT_TRUE(bounded.verdict().passed) << shape;
        }
        DeviceCall call(shape);
        call.enqueue(nullptr);
        const Correctness verdict = call.verdict();
        EXPECT_TRUE(verdict.passed) << shape << ": " << verdict.why;
        const std::vector<std::byte> first = call.download();
        for (int again = 0; again < 100; ++again) {
            call.poison();
            call.enqueue(nullptr);
            EXPECT_EQ(first, call.download()) << shape << " run " << again;
        }
    }
}

TEST(OnDevice, a_page_out_of_range_is_refused_and_the_output_untouched) {
    DeviceCall call("b=3,h=16/2,q=1,k=1000;17;513,d=128,dtype=bf16,page=16");
    std::vector<std::int32_t> table = call.host().inputs.block_table;
    table[3] = 1 << 20;
    call.decode_args.block_table = call.mirror().place(table.data(), table.size() * 4);
    call.decode_args.options.checked = true;
    try {
        call.enqueue(nullptr);
        FAIL() << "a page index of 1048576 was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        EXPECT_NE(std::string(error.what()).find("1048576"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(call.untouched());
}

}  // namespace
}  // namespace raceline::tests
