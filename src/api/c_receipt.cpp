// SPDX-License-Identifier: Apache-2.0
// raceline.h: statistics of raw samples and receipt rows, so that no script writes either itself.
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>

#include "api/c_boundary.hpp"
#include "api/c_timing.hpp"
#include "api/predicted_case.hpp"
#include "api/refusal.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "support/json.hpp"
#include "timing/cuda_runtime.hpp"
#include "timing/measurement.hpp"

struct rl_receipt {
    raceline::RowContext context;
    raceline::ReceiptWriter writer;
    std::mutex mutex;  // threads may share the handle; the file's lock is between processes
    std::string described = {};  // the device that was last written down, as text
};

namespace {

using namespace raceline;
using raceline::api::bad;
using raceline::api::guarded;

std::vector<double> checked_samples(const double* samples, std::int64_t count,
                                    std::string_view name) {
    require(count >= 1, bad, "{} has {} samples; at least 1 is needed", name, count);
    api::require_pointer(samples, name);
    const std::span all(samples, static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) {
        require(std::isfinite(all[i]) && all[i] >= 0, bad,
                "{}[{}] is {}; a sample is a finite number, not negative", name, i, all[i]);
    }
    return {all.begin(), all.end()};
}

void check_amount(double value, std::string_view name, const char* member, const char* wanted) {
    require(std::isfinite(value) && value >= 0, bad, "{}.{} is {}; it must be {}, or 0", name,
            member, value, wanted);
}

Measurement measured(const rl_samples* given, std::string_view name) {
    const rl_samples side = api::read_struct(given, name);
    if (side.timing != nullptr) {
        require(side.seconds == nullptr && side.count == 0, bad,
                "{} has both samples and a timing; one of them says how long it took", name);
        return api::read_timing(side.timing, name);
    }
    check_amount(side.seconds_call, name, "seconds_call", "a time in seconds");
    check_amount(side.sm_clock_hz, name, "sm_clock_hz", "a clock in Hz");
    check_amount(side.power_w, name, "power_w", "a power in W");
    Measurement m = summarize(checked_samples(side.seconds, side.count, name));
    require(m.seconds_low > 0, bad, "{} has an interval from {} s; times must be above 0", name,
            m.seconds_low);
    m.seconds_call = side.seconds_call > 0 ? side.seconds_call : m.seconds_median;
    m.sm_clock_hz = side.sm_clock_hz;
    m.power_w = side.power_w;
    m.settled = side.settled != 0;
    m.throttled = side.throttled != 0;
    return m;
}

Json object_from(const char* text, std::string_view name) {
    api::require_pointer(text, name);
    Json object = parse_json(text, name);
    require(object.is_object(), bad, "{} is not a JSON object; it must be one", name);
    return object;
}

std::string source_hash_of(const Json& content) {
    const auto named = content.find("kernel");
    if (named != content.end() && named->is_string()) {
        for (const Kernel& kernel : all_kernels()) {
            if (kernel.name == named->get_ref<const std::string&>()) {
                return std::string(kernel.source_hash);
            }
        }
    }
    return {};
}

// Members that the library writes: a caller's own would contradict or be lost.
void check_free_of(const Json& content, std::string_view name,
                   std::initializer_list<const char*> reserved) {
    for (const char* member : reserved) {
        require(!content.contains(member), bad,
                "{} has a member '{}', which raceline writes itself", name, member);
    }
}

// What a caller of schema 1 did not write, filled in. What it means is what schema 1 meant by its
// absence; a form that is wrong otherwise is left to the check of the whole row.
template <class Value>
void fill_in(Json& content, const char* member) {
    const auto found = content.find(member);
    if (found == content.end() || !found->is_object()) {
        return;
    }
    try {
        const Json whole = row_to_json(row_from_json<Value>(*found, 1));
        for (const auto& [name, value] : whole.items()) {
            found->emplace(name, Json(value));
        }
    } catch (const Error&) {
        return;
    }
}

Json of_schema_2(std::string_view kind, const Json& content) {
    Json whole = content;
    if (!is_about_case(kind)) {
        return whole;
    }
    const RowCase usual;
    whole.emplace("op", usual.op);
    whole.emplace("pass", usual.pass);
    if (const auto launch = whole.find("case"); launch != whole.end() && launch->is_object()) {
        launch->emplace("regime", usual.launch.regime);
    }
    fill_in<Measurement>(whole, "measurement");
    if (kind != ComparisonRow::kind) {
        fill_in<Correctness>(whole, "correctness");
    }
    return whole;
}

// Of a prediction that this machine's library made: with the rates that it used, so that it can be
// computed again. Another one's, or one by other rates, has them where its maker put them.
void describe_device(rl_receipt& receipt, const Json& content) {
    try {
        const auto row =
            row_from_json<PredictionRow>(of_schema_2(PredictionRow::kind, content), receipt_schema);
        const Device device =
            api::device_of_prediction(row.about.device.id, row.about.launch.threads);
        if (device.rates_id == row.prediction.rates_id && device.name == row.about.device.name) {
            const RowSink sink{.context = &receipt.context,
                               .writer = &receipt.writer,
                               .emit = {},
                               .described = receipt.described};
            sink.describe(device);
            receipt.described = sink.described;
        }
    } catch (const Error&) {
        return;  // the row itself will say what is wrong with it
    }
}

void append(rl_receipt& receipt, std::string_view kind, const Json& content, char** written) {
    check_free_of(content, "content",
                  {"schema", "kind", "id", "argv", "written", "prev", "hash", "git", "source_hash",
                   "environment"});
    const std::lock_guard lock(receipt.mutex);
    if (kind == PredictionRow::kind) {
        describe_device(receipt, content);
    }
    const Json row =
        make_row(receipt.context, kind, source_hash_of(content), of_schema_2(kind, content));
    const Json whole = receipt.writer.append(row);
    if (written != nullptr) {
        *written = api::copied_text(dump_json(whole));
    }
}

Json comparison(const char* about, const rl_samples* ours, const char* peer,
                const rl_samples* theirs) {
    Json content = object_from(about, "about");
    Json other = object_from(peer, "peer");
    check_free_of(content, "about", {"measurement", "peer", "ratio", "ratio_low", "ratio_high"});
    check_free_of(
        other, "peer",
        {"seconds_median", "seconds_low", "seconds_high", "seconds_call", "samples", "disturbed",
         "unsettled", "disturbance", "sm_clock_hz", "power_w", "settled", "throttled"});
    for (const char* member : {"name", "version", "backend"}) {
        require(other.contains(member) && other.at(member).is_string(), bad,
                "peer has no text '{}'; name, version and backend say what was compared", member);
    }
    const Measurement a = measured(ours, "ours");
    const Measurement b = measured(theirs, "theirs");
    content["measurement"] = row_to_json(a);
    other.update(row_to_json(b));
    content["peer"] = other;
    // The widest that both intervals allow: never narrower than the truth.
    content["ratio"] = b.seconds_median / a.seconds_median;
    content["ratio_low"] = b.seconds_low / a.seconds_high;
    content["ratio_high"] = b.seconds_high / a.seconds_low;
    return content;
}

}  // namespace

extern "C" {

rl_status rl_summarize(const double* samples, int64_t count, rl_summary* summary) {
    return guarded([&] {
        rl_summary known = api::read_struct(summary, "summary");
        const Measurement m = summarize(checked_samples(samples, count, "samples"));
        known.samples = m.samples;
        known.median = m.seconds_median;
        known.low = m.seconds_low;
        known.high = m.seconds_high;
        api::write_struct(known, summary);
    });
}

rl_status rl_read_clock(rl_clock_state* state) {
    return guarded([&] {
        rl_clock_state known = api::read_struct(state, "state");
        static const cuda::Nvml nvml;  // loading it takes longer than all that it says
        const cuda::ClockState now = nvml.read();
        known.sm_clock_hz = now.sm_clock_hz;
        known.power_w = now.power_w;
        known.throttled = now.throttled ? 1 : 0;
        api::write_struct(known, state);
    });
}

rl_status rl_receipt_open(const char* path, int argc, const char* const* argv,
                          rl_receipt** receipt) {
    return guarded([&] {
        api::require_pointer(receipt, "receipt");
        *receipt = nullptr;
        require(argc >= 0 && (argc == 0 || argv != nullptr), bad,
                "argc is {} with argv {}; argv must hold argc texts", argc,
                argv == nullptr ? "null" : "given");
        for (int i = 0; i < argc; ++i) {
            require(argv[i] != nullptr, bad, "argv[{}] is a null pointer; it must be a text", i);
        }
        const std::string where = api::text_or_empty(path);
        *receipt =
            new rl_receipt{RowContext::of_this_process(argc, argv),
                           ReceiptWriter(where.empty() ? default_receipt_path("api") : where),
                           {}};
    });
}

const char* rl_receipt_path(const rl_receipt* receipt) {
    return receipt == nullptr ? "" : receipt->writer.path().c_str();
}

size_t rl_receipt_repaired(const rl_receipt* receipt) {
    return receipt == nullptr ? 0 : receipt->writer.repaired();
}

rl_status rl_receipt_append(rl_receipt* receipt, const char* kind, const char* content,
                            char** row) {
    return guarded([&] {
        api::require_pointer(receipt, "receipt");
        api::require_pointer(kind, "kind");
        if (row != nullptr) {
            *row = nullptr;
        }
        require(is_row_kind(kind), bad,
                "kind is '{}'; it must be prediction, measurement, counters, comparison, ceiling, "
                "check, refusal, device or kernel",
                kind);
        append(*receipt, kind, object_from(content, "content"), row);
    });
}

rl_status rl_receipt_append_comparison(rl_receipt* receipt, const char* about,
                                       const rl_samples* ours, const char* peer,
                                       const rl_samples* theirs, char** row) {
    return guarded([&] {
        api::require_pointer(receipt, "receipt");
        if (row != nullptr) {
            *row = nullptr;
        }
        append(*receipt, "comparison", comparison(about, ours, peer, theirs), row);
    });
}

void rl_receipt_close(rl_receipt* receipt) {
    delete receipt;
}

}  // extern "C"
