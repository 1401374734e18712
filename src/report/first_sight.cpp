// SPDX-License-Identifier: Apache-2.0
#include "report/first_sight.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <utility>

#include "raceline/error.hpp"
#include "support/sha256.hpp"
#include "workload/plainest.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Plain = nlohmann::json;  // members in alphabetical order

// 0 and 0.0 are one number.
Plain one_spelling(const Json& value) {
    if (value.is_number_float()) {
        const auto number = value.get<double>();
        const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
        return whole ? Plain(static_cast<std::int64_t>(number)) : Plain(number);
    }
    if (value.is_array()) {
        Plain all = Plain::array();
        for (const Json& one : value) {
            all.push_back(one_spelling(one));
        }
        return all;
    }
    return Plain(value);
}

bool says_nothing(const Plain& value) {
    if (value.is_string()) {  // `empty` of a string is false, whatever it holds
        return value.get_ref<const std::string&>().empty();
    }
    return value == false || value == 0 || value.empty();
}

// Defaults that are neither null, false, zero nor empty. A new member of the workload with such a
// default is named here; a test looks at what a workload writes.
const Plain& workload_defaults() {
    static const Plain all{{"batch", 1}, {"mask", "full"}, {"accuracy", "accurate"}};
    return all;
}

// Members that are the same as another one unless they are given.
constexpr std::array<std::pair<const char*, const char*>, 3> follows{
    {{"heads_kv", "heads_q"}, {"headdim_v", "headdim"}, {"kv_dtype", "dtype"}}};

// Of a row's `case`: how a case was run. No part of what it is.
constexpr std::array circumstances{"cold", "launch_path", "threads", "regime"};

Plain without_defaults(const Json& object, const Plain& defaults) {
    Plain kept = Plain::object();
    for (const auto& [name, written] : object.items()) {
        const Plain value = one_spelling(written);
        const auto named = defaults.find(name);
        if (named != defaults.end() ? value != *named : !says_nothing(value)) {
            kept[name] = value;
        }
    }
    return kept;
}

// Every member of a workload that this version reads.
const Json& members_read() {
    static const Json all = [] {
        Workload w;
        w.seqlens_q = w.seqlens_k = {w.seqlen_q};
        w.scale = 1;
        w.mla = true;
        w.accuracy = Accuracy::fast;
        return workload_to_json(w);
    }();
    return all;
}

// Without what changes nothing, as far as this version understands the workload; members that it
// does not know stay.
Json plain_workload(const Json& written) {
    if (written.contains("op")) {
        return written;  // of another operation than attention: there is one spelling
    }
    try {
        Json plain = workload_to_json(plainest(workload_from_json(written)));
        for (const auto& [name, value] : written.items()) {
            if (!members_read().contains(name)) {
                plain[name] = value;
            }
        }
        return plain;
    } catch (const Error&) {
        return written;  // of another version
    }
}

Plain normalised_workload(const Json& workload) {
    Plain kept = without_defaults(plain_workload(workload), workload_defaults());
    for (const auto& [member, other] : follows) {
        const auto found = kept.find(member);
        if (found != kept.end() && kept.contains(other) && *found == kept.at(other)) {
            kept.erase(found);
        }
    }
    return kept;
}

Plain normalised_launch(const Json& launch) {
    Plain kept = without_defaults(launch, Plain::object());
    for (const char* circumstance : circumstances) {
        kept.erase(circumstance);
    }
    return kept;
}

// One space between words and none at the ends.
std::string with_single_spaces(const std::string& text) {
    std::istringstream in(text);
    std::string joined;
    for (std::string word; in >> word;) {
        joined += (joined.empty() ? "" : " ") + word;
    }
    return joined;
}

std::string shortened_hash(const std::string& text) {
    return sha256_hex(text).substr(0, 16);
}

}  // namespace

std::string_view sight_name(Sight sight) {
    constexpr std::array<std::string_view, 3> names{"kernel never measured", "case never measured",
                                                    "seen"};
    return names.at(static_cast<std::size_t>(sight));
}

nlohmann::json normalised_case(const Json& workload, const Json& launch, std::string_view op,
                               std::string_view pass) {
    const PastMeasurement usual;
    Plain kept{{"workload", normalised_workload(workload)}, {"case", normalised_launch(launch)}};
    if (op != usual.op) {
        kept["op"] = op;
    }
    if (pass != usual.pass) {
        kept["pass"] = pass;
    }
    return kept;
}

std::string sight_device(const Json& device) {
    const auto id = device.at("id").get<std::string>();
    const bool one_of_many = id == "cpu" || id == "cuda";
    return id + '\n' +
           (one_of_many ? with_single_spaces(device.at("name").get<std::string>()) : "");
}

std::string device_label(const Json& device) {
    std::string text = sight_device(device);
    const auto line = text.find('\n');
    return line + 1 == text.size() ? text.substr(0, line)
                                   : text.substr(0, line) + " (" + text.substr(line + 1) + ")";
}

SightKeys sight_keys(const PastMeasurement& measured, std::string_view kernel_name) {
    const std::string kernel = sight_device(measured.device) + '\n' + std::string(kernel_name);
    const auto about =
        normalised_case(measured.workload, measured.launch, measured.op, measured.pass);
    return {shortened_hash(kernel), shortened_hash(kernel + '\n' + about.dump())};
}

void add_first_dates(FirstDates& dates, std::span<const PastMeasurement> measured) {
    for (const PastMeasurement& m : measured) {
        SightKeys keys;
        try {
            keys = sight_keys(m, m.kernel);
        } catch (const nlohmann::json::exception&) {
            continue;  // a device of a newer version must not take the others with it
        }
        for (const std::string& key : {keys.kernel, keys.of_case}) {
            std::string& first = dates[key];
            if (first.empty() || m.written < first) {
                first = m.written;
            }
        }
    }
}

PastMeasurement measured_by(const Json& row) {
    PastMeasurement m;
    m.kind = row.at("kind").get<std::string>();
    m.suite = row.at("suite").get<std::string>();
    m.device = row.at("device");
    m.kernel = row.at("kernel").get<std::string>();
    m.tile = row.at("tile");
    m.workload = row.at("workload");
    m.launch = row.at("case");
    m.op = row.value("op", m.op);
    m.pass = row.value("pass", m.pass);
    m.written = row.at("written").get<std::string>();
    return m;
}

FirstSights::FirstSights(std::span<const build_info::EmbeddedSight> committed, Names names)
    : committed_(committed), names_(std::move(names)) {}

void FirstSights::add(std::span<const PastMeasurement> measured) {
    add_first_dates(added_, measured);
}

bool FirstSights::before(const std::string& key, std::string_view when) const {
    const auto known =
        std::ranges::lower_bound(committed_, key, {}, &build_info::EmbeddedSight::key);
    const auto added = added_.find(key);
    return (known != committed_.end() && known->key == key && known->first < when) ||
           (added != added_.end() && added->second < when);
}

Sight FirstSights::of(const PastMeasurement& row, std::string_view run_began) const {
    Sight found = Sight::new_kernel;
    for (const std::string& name : names_(row.kernel)) {
        const SightKeys keys = sight_keys(row, name);
        if (before(keys.of_case, row.written)) {
            return Sight::seen;
        }
        found = before(keys.kernel, run_began) ? Sight::new_case : found;
    }
    return found;
}

}  // namespace raceline
