// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "api/call.hpp"
#include "api/engine_choice.hpp"
#include "api/own_workspace.hpp"
#include "api/refusal.hpp"
#include "raceline/raceline.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using api::bad;
using api::Call;
using api::EngineChoice;
using api::Pointers;

EngineChoice engine_for(Call& call, const AttentionOptions& options, Place place) {
    try {
        return api::remembered_engine(call.workload, place, options.threads, options.backend);
    } catch (const Error& error) {
        if (!call.workload.mla || error.status() != Status::unsupported) {
            throw;
        }
    }
    // An engine that knows nothing of latent caches still reads two views of the same memory.
    call.workload.mla = false;
    return api::remembered_engine(call.workload, place, options.threads, options.backend);
}

std::size_t workspace_of(const Call& call, const EngineChoice& choice) {
    return choice.kernel->workspace(call.workload, choice.tile, *choice.device);
}

std::size_t needed_workspace(Call& call, const AttentionOptions& options, Place place) {
    return call.empty() ? 0 : workspace_of(call, engine_for(call, options, place));
}

void check_workspace(const Execution& execution, std::size_t needed, const Call& call) {
    require(execution.workspace_bytes >= needed, bad, "workspace has {} bytes; this call needs {}",
            execution.workspace_bytes, needed);
    require(needed == 0 || execution.workspace != nullptr, bad,
            "workspace is a null pointer; this call needs {} bytes", needed);
    const auto address = reinterpret_cast<std::uintptr_t>(execution.workspace);
    require(needed == 0 || address % workspace_alignment == 0, bad,
            "workspace starts at an address that is not a multiple of {} bytes",
            workspace_alignment);
    if (needed != 0) {
        const api::MemoryRange workspace{"workspace", address, address + needed};
        api::check_apart(workspace, {call.out, call.lse});
        api::check_apart(workspace, call.read);
    }
}

void launch(const Call& call, const EngineChoice& choice, const Execution& execution,
            std::size_t needed) {
    check_workspace(execution, needed, call);
    choice.kernel->launch(call.args, choice.tile, *choice.device, execution.workspace,
                          execution.place == Place::cuda ? execution.stream : nullptr);
}

void run(Call& call, const AttentionOptions& options, const Execution& execution) {
    if (call.empty()) {
        return;
    }
    const EngineChoice choice = engine_for(call, options, execution.place);
    launch(call, choice, execution, workspace_of(call, choice));
}

/// What `check` gives. Of several faults, the one that `measure` refuses is told: callers that ask
/// for the workspace's size hear of that first.
template <class Check, class Measure>
Call checked_call(const Check& check, const Measure& measure) {
    try {
        return check();
    } catch (const Error&) {
        measure();
        throw;
    }
}

void run(Call& call, const AttentionOptions& options, Execution execution,
         const api::Allocate& allocate) {
    if (call.empty()) {
        return;
    }
    const EngineChoice choice = engine_for(call, options, execution.place);
    execution.workspace_bytes = workspace_of(call, choice);
    if (execution.workspace_bytes != 0) {
        execution.workspace = allocate(execution.workspace_bytes);
    }
    launch(call, choice, execution, execution.workspace_bytes);
}

}  // namespace

std::size_t forward_workspace(const ForwardArgs& args, Place place) {
    Call call = api::check_forward(args, place, Pointers::ignored);
    return needed_workspace(call, args.options, place);
}

void forward(const ForwardArgs& args, const Execution& execution) {
    Call call = api::check_forward(args, execution.place, Pointers::needed);
    run(call, args.options, execution);
}

std::size_t decode_workspace(const DecodeArgs& args, Place place) {
    Call call = api::check_decode(args, {.place = place}, Pointers::ignored);
    return needed_workspace(call, args.options, place);
}

void decode(const DecodeArgs& args, const Execution& execution) {
    Call call = api::check_decode(args, execution, Pointers::needed);
    run(call, args.options, execution);
}

void api::forward(const ForwardArgs& args, Place place, void* stream, const Allocate& allocate) {
    Call call = checked_call([&] { return check_forward(args, place, Pointers::needed); },
                             [&] { forward_workspace(args, place); });
    run(call, args.options, {.place = place, .stream = stream}, allocate);
}

void api::decode(const DecodeArgs& args, Place place, void* stream, const Allocate& allocate) {
    const Execution execution{.place = place, .stream = stream};
    Call call = checked_call([&] { return check_decode(args, execution, Pointers::needed); },
                             [&] { decode_workspace(args, place); });
    run(call, args.options, execution, allocate);
}

std::string version() {
    return std::string(build_info::version());
}

}  // namespace raceline
