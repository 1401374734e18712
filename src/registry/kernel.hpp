// SPDX-License-Identifier: Apache-2.0
// The kernel record: one constant a folder, from which prediction, test, benchmark, tuning space
// and docs row follow. Typed where a kernel writes it, erased to (name, tile index) elsewhere.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/required.hpp"
#include "workload/attention_call.hpp"
#include "workload/operation_args.hpp"
#include "workload/precision.hpp"
#include "workload/workload.hpp"

namespace raceline {

// Defined by the headers at the end of this file, for host code.
struct Counts;
struct Device;

/// Which kind of device runs a kernel.
enum class Engine : std::int32_t { cpu, cuda };

/// A tile outside its kernel: named fields, in the order of declaration.
using TileFields = std::vector<std::pair<std::string_view, std::int64_t>>;

/// A field of a tile: its name in JSON and on the command line, and names that it had in older
/// receipts.
struct TileField {
    std::string_view name;
    std::span<const std::string_view> formerly{};

    // A name alone says it all of most fields.
    constexpr TileField(const char* its_name, std::span<const std::string_view> older = {})
        : name(its_name), formerly(older) {}
};

/// A tile is a plain struct of int32 fields that names them, all and in the order of declaration:
/// `static constexpr std::array<TileField, 2> fields{"rows", "keys"};`
template <class Tile>
concept TileType = std::is_aggregate_v<Tile> && std::is_trivially_copyable_v<Tile> && requires {
    { Tile::fields[0] } -> std::convertible_to<TileField>;
    requires sizeof(Tile) == Tile::fields.size() * sizeof(std::int32_t);
};

/// Ladder only. A first rung has no predecessor.
struct Rung {
    std::string_view track;          ///< prefill, decode, from-scratch
    std::string_view predecessor{};  ///< name of the rung that this one changes
    std::string_view changes;        ///< the one variable
    std::string_view evidence;       ///< what must be visible in SASS or counters
};

/// What a record knows of a workload in each of its tiles, in this order.
template <TileType Tile>
struct KernelFunctions {
    /// Empty if supported, else the reason why not, as a clause: "head dim 300 is over 256".
    std::string (&supports)(const Workload&, const Tile&, const Device&);
    /// One Counts a launch.
    std::vector<Counts> (&counts)(const Workload&, const Tile&, const Device&);
    Precision (&precision)(const Workload&);
    /// Bytes of scratch; the caller allocates, the runner fills it with NaN.
    std::size_t (&workspace)(const Workload&, const Tile&, const Device&);
};

/// Of a kernel that reads and stores the workload's type and computes in fp32.
inline Precision computed_in_fp32(const Workload& w) {
    const Rounding stored = rounding_of(w.dtype);
    return {stored, Rounding::fp32, Rounding::fp32, Rounding::fp32, stored};
}

/// Of a kernel that needs no scratch.
template <TileType Tile>
std::size_t no_workspace(const Workload&, const Tile&, const Device&) {
    return 0;
}

/// The record that a kernel folder writes. Functions are references and data is Required, so that
/// a forgotten field is a compile error.
template <TileType Tile>
struct KernelRecord {
    Required<std::string_view> name;
    Required<std::string_view> summary;
    Required<Engine> engine;
    Required<std::span<const Tile>> tiles;
    KernelFunctions<Tile> functions;
    const Rung* rung = nullptr;
    /// Names that the kernel had before, so that its history of receipts stays one: what was
    /// measured under these is no first sight under the new one.
    std::span<const std::string_view> formerly{};
    /// What it computes: an operation of operations/, and a pass of it.
    std::string_view op = "attention";
    std::string_view pass = "forward";
    /// Whether it takes a call with a tree, and an e4m3 cache with a scale for each token. Only
    /// where the record ends with RACELINE_CALL_KERNEL.
    bool trees = false;
    bool token_scales = false;
};

/// A record of what every engine has, with the functions in KernelFunctions' order. Its name comes
/// from RACELINE_KERNEL.
template <TileType Tile, std::size_t count>
KernelRecord<Tile> record_of(std::string_view summary, Engine engine,
                             const std::array<Tile, count>& tiles,
                             const std::type_identity_t<KernelFunctions<Tile>>& functions) {
    return {.name = std::string_view(),
            .summary = summary,
            .engine = engine,
            .tiles = std::span<const Tile>(tiles),
            .functions = functions};
}
template <TileType Tile>
KernelRecord<Tile> named(std::string_view name, KernelRecord<Tile> record) {
    record.name = name;
    return record;
}
template <TileType Tile>
KernelRecord<Tile> with_trees(KernelRecord<Tile> record) {
    record.trees = true;
    return record;
}

template <TileType Tile>
KernelRecord<Tile> with_token_scales(KernelRecord<Tile> record) {
    record.token_scales = true;
    return record;
}

/// Enqueues the kernel. Never synchronises, never allocates device memory. `stream` is a
/// cudaStream_t on a GPU and null on a CPU; a CPU kernel uses `device.units` threads and has
/// finished when it returns.
using LaunchFn = void (*)(const AttentionCall& args, int tile, const Device& device,
                          void* workspace, void* stream);
/// The same for a kernel whose record ends with RACELINE_OPERATION_KERNEL.
using OperationLaunchFn = void (*)(const OperationArgs& args, int tile, const Device& device,
                                   void* workspace, void* stream);

/// The erased record: what everything outside kernels/ and ladder/ sees.
class Kernel {
public:
    template <TileType Tile>
    explicit Kernel(const KernelRecord<Tile>& record);

    std::string_view name, summary;
    std::string_view op, pass;  ///< what it computes
    bool trees = false;         ///< takes calls with a tree
    bool token_scales = false;  ///< takes caches with a scale for each token
    Engine engine{};
    const Rung* rung = nullptr;
    std::span<const std::string_view> formerly;  ///< names that it had before
    bool ladder = false;        ///< lives in ladder/: never dispatched to by the API
    LaunchFn launch = nullptr;  ///< null: see compiled()
    OperationLaunchFn launch_operation = nullptr;  ///< the other signature; one of both is null
    int own_lines = 0;             ///< lines of code in its folder, comments left out
    std::string_view source_hash;  ///< of the folder and the gpu/ headers, from the build

    /// Whether this build has code for it; none for a GPU if it is without CUDA.
    [[nodiscard]] bool compiled() const { return launch != nullptr || launch_operation != nullptr; }
    void enqueue(const AttentionCall& args, int tile, const Device& device, void* workspace,
                 void* stream) const {
        launch(args, tile, device, workspace, stream);
    }
    void enqueue(const OperationArgs& args, int tile, const Device& device, void* workspace,
                 void* stream) const {
        launch_operation(args, tile, device, workspace, stream);
    }

    [[nodiscard]] int tile_count() const { return static_cast<int>(tiles_.size()); }
    [[nodiscard]] const TileFields& tile(int index) const { return tiles_.at(index); }
    /// "m=64,n=128"
    [[nodiscard]] std::string tile_text(int index) const;
    /// Index of the tile with exactly these fields, -1 if there is none. Fields may have the names
    /// that they had before, and stand in any order. One that is 0 need not be named: older
    /// receipts do not name fields that came later.
    [[nodiscard]] int find_tile(const TileFields& fields) const;
    /// What a tile's field is called now; a name that it never had is given back.
    [[nodiscard]] std::string_view field_name(std::string_view field) const;
    /// Names that fields had, each with the present one.
    [[nodiscard]] const std::vector<std::pair<std::string_view, std::string_view>>& older_fields()
        const {
        return older_fields_;
    }
    /// Whether the kernel has this name, or had it before.
    [[nodiscard]] bool was_called(std::string_view other) const;

    /// "" if it computes what the workload asks for, else what it computes instead.
    [[nodiscard]] std::string computes_other(const Workload& w) const;
    /// The reason of the record, which is not asked about what no record knows unless it says so.
    [[nodiscard]] std::string why_not(const Workload& w, int tile, const Device& d) const {
        std::string other = computes_other(w);
        if (other.empty() && w.tree != 0 && !trees) {
            other = "it knows no tree of new tokens";
        }
        if (other.empty() && w.has_token_scales() && !token_scales) {
            other = "it knows no scales of single tokens";
        }
        return other.empty() ? erased_.supports(record_, w, tile, d) : other;
    }
    /// A call without query rows is one launch that does nothing, whatever the kernel.
    [[nodiscard]] std::vector<Counts> counts(const Workload& w, int tile, const Device& d) const;
    [[nodiscard]] Precision precision(const Workload& w) const {
        return erased_.precision(record_, w);
    }
    [[nodiscard]] std::size_t workspace(const Workload& w, int tile, const Device& d) const {
        return erased_.workspace(record_, w, tile, d);
    }

private:
    struct Erased {
        std::string (*supports)(const void*, const Workload&, int, const Device&);
        std::vector<Counts> (*counts)(const void*, const Workload&, int, const Device&);
        Precision (*precision)(const void*, const Workload&);
        std::size_t (*workspace)(const void*, const Workload&, int, const Device&);
    };
    const void* record_;
    Erased erased_;
    std::vector<TileFields> tiles_;
    std::vector<std::pair<std::string_view, std::string_view>> older_fields_;  ///< then, now
};

template <TileType Tile>
Kernel::Kernel(const KernelRecord<Tile>& record)
    : name(record.name.value),
      summary(record.summary.value),
      op(record.op),
      pass(record.pass),
      trees(record.trees),
      token_scales(record.token_scales),
      engine(record.engine.value),
      rung(record.rung),
      formerly(record.formerly),
      record_(&record) {
    using R = KernelRecord<Tile>;
    erased_.supports = [](const void* r, const Workload& w, int tile, const Device& d) {
        const auto& self = *static_cast<const R*>(r);
        return self.functions.supports(w, self.tiles.value[tile], d);
    };
    erased_.counts = [](const void* r, const Workload& w, int tile, const Device& d) {
        const auto& self = *static_cast<const R*>(r);
        return self.functions.counts(w, self.tiles.value[tile], d);
    };
    erased_.precision = [](const void* r, const Workload& w) {
        return static_cast<const R*>(r)->functions.precision(w);
    };
    erased_.workspace = [](const void* r, const Workload& w, int tile, const Device& d) {
        const auto& self = *static_cast<const R*>(r);
        return self.functions.workspace(w, self.tiles.value[tile], d);
    };
    for (const TileField& field : Tile::fields) {
        for (const std::string_view older : field.formerly) {
            older_fields_.emplace_back(older, field.name);
        }
    }
    for (const Tile& tile : record.tiles.value) {
        const auto values = std::bit_cast<std::array<std::int32_t, Tile::fields.size()>>(tile);
        TileFields& fields = tiles_.emplace_back();
        for (std::size_t i = 0; i < values.size(); ++i) {
            fields.emplace_back(Tile::fields[i].name, values[i]);
        }
    }
}

}  // namespace raceline

/// Ends a kernel's record file. NAME is the folder's name, and the kernel's; then a KernelRecord,
/// as it is written in the kernel's namespace: a constant's name, or record_of. Exports the
/// function that the generated list calls (a const object would have internal linkage).
// clang-format off
#define RACELINE_KERNEL(NAME, ...)                                                                                  \
    namespace raceline::kernels::NAME {                                                                             \
    ::raceline::Kernel kernel() {                                                                                   \
        static const auto its_record = ::raceline::named(#NAME, __VA_ARGS__); return ::raceline::Kernel(its_record); \
    } }
// clang-format on

/// The same for a kernel whose `launch` takes OperationArgs. tools/build_info.cmake looks for this
/// name at the beginning of a line, and writes the signature into the generated list.
#define RACELINE_OPERATION_KERNEL(NAME, ...) RACELINE_KERNEL(NAME, __VA_ARGS__)

/// The same for a kernel whose `launch` takes an AttentionCall: with_trees and with_token_scales
/// around the record say what of it the kernel takes.
#define RACELINE_CALL_KERNEL(NAME, ...) RACELINE_KERNEL(NAME, __VA_ARGS__)

// Host code that has the record has what its functions take and return. Device code names these in
// signatures alone, so that a field more in either compiles no kernel anew.
#ifndef __CUDACC__
#include "device/device.hpp"
#include "model/counts.hpp"
#endif
