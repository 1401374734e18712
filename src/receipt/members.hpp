// SPDX-License-Identifier: Apache-2.0
// How a struct stands in JSON, said once: members_of(const S*) names its members, and reading,
// writing and checking follow from that. Used by rows.cpp alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>
#include <tuple>

#include "receipt/rows.hpp"
#include "receipt/value_forms.hpp"
#include "support/check.hpp"

namespace raceline::members {

using form::Form;

enum class Presence {
    needed,
    since_2,           ///< rows of schema 1 may lack it: the struct's default is meant
    since_2_of_peers,  ///< needed, but a peer's of schema 1 may lack it
    optional           ///< left out where it has the struct's default
};

template <class S, class T>
struct Member {
    const char* name;
    T S::* at;
    Form form;
    Presence presence = Presence::needed;
};
/// Members of T that stand among those of S.
template <class S, class T>
struct Inline {
    T S::* at;
    bool of_peer = false;
};
/// An object that stays as it was written, and what it must have, which may follow from itself.
struct Named {
    const char* name;
    Form form;
};
template <class S>
struct Object {
    const char* name;
    Json S::* at;
    std::span<const Named> (*members)(const Json& object);
};
/// All other members.
template <class S>
struct Rest {
    Json S::* at;
};

template <class S, class T>
constexpr Member<S, T> member(const char* name, T S::* at, Form form,
                              Presence presence = Presence::needed) {
    return {name, at, form, presence};
}

template <class T>
concept described = requires { members_of(static_cast<const T*>(nullptr)); };

// ---- values ----

template <class T>
void get(const Json& value, T& to) {
    value.get_to(to);
}
inline void get(const Json& value, Json& to) {
    to = value;
}
inline void get(const Json& value, double& to) {
    // JSON has no spelling for what is not finite.
    to = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}
inline void get(const Json& value, Roofline& to) {
    for (const auto& [resource, seconds] : value.items()) {
        const double one = seconds.get<double>();
        to.seconds[resource] = one;
        if (one > to.bound_seconds) {
            to.bound_seconds = one;
            to.limiter = resource;
        }
    }
}
inline void get(const Json& value, std::vector<std::pair<std::string, double>>& to) {
    for (const auto& [name, number] : value.items()) {
        to.emplace_back(name, number.get<double>());
    }
}
inline void get(const Json& value, std::optional<Interval>& to) {
    if (!value.is_null()) {
        to = Interval{value.at(0).get<double>(), value.at(1).get<double>()};
    }
}

template <class T>
Json put(const T& value) {
    return value;
}
inline Json put(double value) {
    return std::isfinite(value) ? Json(value) : Json();
}
inline Json put(const Roofline& value) {
    Json object = Json::object();
    for (const auto& [resource, seconds] : value.seconds) {
        object[resource] = seconds;
    }
    return object;
}
inline Json put(const std::vector<std::pair<std::string, double>>& value) {
    Json object = Json::object();
    for (const auto& [name, number] : value) {
        object[name] = number;
    }
    return object;
}
inline Json put(const std::optional<Interval>& value) {
    return value ? Json::array({value->low, value->high}) : Json();
}

// ---- checking ----

inline std::string shortened(const Json& value) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() <= 60 ? text : value.type_name();
}

// `inside` is the path of the object, "" for the row itself.
inline const Json& checked(const Json& from, std::string_view inside, const Named& named) {
    const auto at = from.find(named.name);
    require(at != from.end(), Status::corrupt, "member \"{}{}\" is missing; it must be {}", inside,
            named.name, named.form.wanted);
    if (!named.form.holds(*at)) {  // what it is takes long to write
        fail(Status::corrupt, "member \"{}{}\" is {}; it must be {}", inside, named.name,
             shortened(*at), named.form.wanted);
    }
    return *at;
}

// ---- reading ----

struct Source {
    const Json& object;
    std::string inside;
    int schema;
    bool of_peer = false;
};

template <class S>
void read(S& to, const Source& from);

template <class T>
void read_value(T& to, const Json& value, const Source& from, const char* name) {
    if constexpr (described<T>) {
        read(to, {value, fmt::format("{}{}.", from.inside, name), from.schema});
    } else {
        get(value, to);
    }
}
template <described T>
void read_value(std::optional<T>& to, const Json& value, const Source& from, const char* name) {
    if (!value.is_null()) {
        read_value(to.emplace(), value, from, name);
    }
}

template <class S, class T>
void read_member(S& to, const Source& from, const Member<S, T>& m) {
    const bool of_1 = m.presence == Presence::needed ||
                      (m.presence == Presence::since_2_of_peers && !from.of_peer);
    const bool needed = of_1 || (m.presence != Presence::optional && from.schema >= 2);
    if (needed || from.object.contains(m.name)) {
        read_value(to.*m.at, checked(from.object, from.inside, {m.name, m.form}), from, m.name);
    }
}
template <class S, class T>
void read_member(S& to, const Source& from, const Inline<S, T>& m) {
    Source same = from;
    same.of_peer = m.of_peer;
    read(to.*m.at, same);
}
template <class S>
void read_member(S& to, const Source& from, const Object<S>& m) {
    to.*m.at = checked(from.object, from.inside, {m.name, form::object});
    for (const Named& named : m.members(to.*m.at)) {
        checked(to.*m.at, fmt::format("{}{}.", from.inside, m.name), named);
    }
}

template <class S>
void add_names(std::vector<std::string_view>& names);
template <class S>
void read_member(S& to, const Source& from, const Rest<S>& m) {
    std::vector<std::string_view> known;
    add_names<S>(known);
    for (const auto& [name, value] : from.object.items()) {
        if (std::ranges::find(known, name) == known.end()) {
            (to.*m.at)[name] = value;
        }
    }
}

template <class S>
void read(S& to, const Source& from) {
    std::apply([&](const auto&... m) { (read_member(to, from, m), ...); },
               members_of(static_cast<const S*>(nullptr)));
}

template <class S, class T>
void add_name(std::vector<std::string_view>& names, const Inline<S, T>&) {
    add_names<T>(names);
}
template <class S>
void add_name(std::vector<std::string_view>&, const Rest<S>&) {}
void add_name(std::vector<std::string_view>& names, const auto& m)
    requires requires { m.name; }
{
    names.push_back(m.name);
}
template <class S>
void add_names(std::vector<std::string_view>& names) {
    std::apply([&](const auto&... m) { (add_name(names, m), ...); },
               members_of(static_cast<const S*>(nullptr)));
}

// ---- writing ----

template <class S>
void write(Json& to, const S& from);

template <class T>
Json written(const T& value) {
    if constexpr (described<T>) {
        Json object = Json::object();
        write(object, value);
        return object;
    } else {
        return put(value);
    }
}
template <described T>
Json written(const std::optional<T>& value) {
    return value ? written(*value) : Json();
}

template <class S, class T>
void write_member(Json& to, const S& from, const Member<S, T>& m) {
    if constexpr (std::equality_comparable<T>) {
        if (m.presence == Presence::optional && from.*m.at == S{}.*m.at) {
            return;
        }
    }
    to[m.name] = written(from.*m.at);
}
template <class S, class T>
void write_member(Json& to, const S& from, const Inline<S, T>& m) {
    write(to, from.*m.at);
}
template <class S>
void write_member(Json& to, const S& from, const Object<S>& m) {
    to[m.name] = from.*m.at;
}
template <class S>
void write_member(Json& to, const S& from, const Rest<S>& m) {
    to.update(from.*m.at);
}

template <class S>
void write(Json& to, const S& from) {
    std::apply([&](const auto&... m) { (write_member(to, from, m), ...); },
               members_of(static_cast<const S*>(nullptr)));
}

}  // namespace raceline::members
