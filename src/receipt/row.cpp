// SPDX-License-Identifier: Apache-2.0
#include "receipt/row.hpp"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/utsname.h>

#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/sha256.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

// Arguments are bytes; JSON is UTF-8. What is not gets U+FFFD, so that no argument can keep a row
// from being written.
std::string valid_utf8(const std::string& bytes) {
    return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("model name")) {
            const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
            return begin == std::string::npos ? "" : line.substr(begin);
        }
    }
    return "";  // Not every architecture names its model there.
}

Json probe_environment() {
    utsname system{};
    uname(&system);
    return Json{
        {"raceline", build_info::version()},
        {"compiler", build_info::compiler()},
        {"build_type", build_info::build_type()},
        {"cuda", build_info::cuda()},
        {"fmt",
         fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
        {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
        {"system", system.sysname},
        {"kernel", system.release},
        {"architecture", system.machine},
        {"cpu", valid_utf8(cpu_model())},
    };
}

std::string fresh_id() {
    std::random_device source;
    std::string id;
    for (int i = 0; i < 4; ++i) {
        id += fmt::format("{:08x}", static_cast<std::uint32_t>(source()));
    }
    return id;
}

// An absolute path names a folder of one machine and nothing that a reader could use: its last part
// stays. `--name=/path` counts, too.
std::string without_folders(const std::string& argument) {
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    const std::size_t value = equals == std::string::npos ? 0 : equals + 1;
    if (value >= argument.size() || argument[value] != '/') {
        return argument;
    }
    return argument.substr(0, value) + argument.substr(argument.rfind('/') + 1);
}

}  // namespace

Json RowContext::environment() const {
    static const Json once = probe_environment();
    return once;
}

RowContext RowContext::of_this_process(int argc, const char* const* argv) {
    RowContext context;
    context.argv.assign(argv, argv + argc);
    context.git_commit = build_info::git_commit();
    context.git_dirty = build_info::git_dirty();
    return context;
}

Json make_row(const RowContext& context, std::string_view kind, std::string_view source_hash,
              const Json& content) {
    require(is_row_kind(kind), Status::invalid_argument, "'{}' is no kind of receipt row", kind);
    require(content.is_object(), Status::invalid_argument,
            "the content of a {} row must be an object, got {}", kind, content.type_name());
    Json argv = Json::array();
    for (const std::string& argument : context.argv) {
        argv.push_back(valid_utf8(without_folders(argument)));
    }
    Json row{
        {"schema", receipt_schema},
        {"kind", kind},
        {"id", fresh_id()},
        {"argv", std::move(argv)},
        {"written", utc_now()},
        {"git", {{"commit", context.git_commit}, {"dirty", context.git_dirty}}},
        {"source_hash", source_hash},
        {"environment", context.environment()},
    };
    for (const auto& [name, value] : content.items()) {
        require(!row.contains(name) && name != "prev" && name != "hash", Status::invalid_argument,
                "the content of a {} row must not have a member \"{}\": every row has its own",
                kind, name);
        row[name] = value;
    }
    return row;
}

std::string row_hash(const Json& row) {
    // The text of the row without its hash, put together so that no row is copied for it.
    require_spellings(row);  // names the place in the row
    std::string text = "{";
    for (const auto& [name, value] : row.items()) {
        if (name != "hash") {
            text += text.size() > 1 ? "," : "";
            text += dump_json(Json(name)) + ':' + dump_json(value);
        }
    }
    return sha256_hex(text + '}');
}

double number_or_nan(const Json& object, const char* member) {
    const Json& value = object.at(member);
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

}  // namespace raceline
