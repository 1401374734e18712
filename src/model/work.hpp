// SPDX-License-Identifier: Apache-2.0
// Amounts of work by resource. A handful of them stand in each of a prediction's many lists, so
// they lie side by side in one piece of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace raceline {

namespace work {
/// Where an id stands, or would, in a list that is sorted by it.
template <class List>
auto lower(List& list, std::string_view id) {
    return std::lower_bound(
        list.begin(), list.end(), id,
        [](const auto& one, std::string_view other) { return one.first < other; });
}
}  // namespace work

/// Amounts by resource id (see device/device.hpp): flops, operations, bytes. Sorted by id. Has of a
/// map what counts and model use, with the same meaning.
class Work {
public:
    using value_type = std::pair<std::string, double>;
    using List = std::vector<value_type>;

    Work() = default;
    Work(std::initializer_list<std::pair<std::string_view, double>> amounts) {
        list_.reserve(amounts.size() + spare);
        for (const auto& [id, amount] : amounts) {
            (*this)[id] = amount;
        }
    }

    double& operator[](std::string_view id) {
        auto place = work::lower(list_, id);
        if (place == list_.end() || place->first != id) {
            const auto before = place - list_.begin();
            list_.reserve(list_.size() + spare);
            place = list_.emplace(list_.begin() + before, id, 0.0);
        }
        return place->second;
    }
    [[nodiscard]] double at(std::string_view id) const {
        const auto place = find(id);
        if (place == end()) {
            throw std::out_of_range("no such work: " + std::string(id));
        }
        return place->second;
    }
    [[nodiscard]] List::const_iterator find(std::string_view id) const {
        const auto place = work::lower(list_, id);
        return place != list_.end() && place->first == id ? place : list_.end();
    }
    [[nodiscard]] bool contains(std::string_view id) const { return find(id) != end(); }
    void erase(std::string_view id) {
        if (const auto place = find(id); place != end()) {
            list_.erase(place);
        }
    }

    [[nodiscard]] bool empty() const { return list_.empty(); }
    [[nodiscard]] std::size_t size() const { return list_.size(); }
    [[nodiscard]] List::const_iterator begin() const { return list_.begin(); }
    [[nodiscard]] List::const_iterator end() const { return list_.end(); }
    // Who changes an id through these has it sorted no longer: amounts alone are for changing.
    [[nodiscard]] List::iterator begin() { return list_.begin(); }
    [[nodiscard]] List::iterator end() { return list_.end(); }

    Work& operator*=(double factor) {
        for (auto& [id, amount] : list_) {
            amount *= factor;
        }
        return *this;
    }
    Work& operator+=(const Work& other) {
        for (const auto& [id, amount] : other) {
            (*this)[id] += amount;
        }
        return *this;
    }
    bool operator==(const Work&) const = default;

private:
    static constexpr std::size_t spare = 4;
    List list_;
};

inline Work operator*(Work work, double factor) {
    return work *= factor;
}

inline Work operator+(Work a, const Work& b) {
    return a += b;
}

}  // namespace raceline
