// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace raceline {

/// Values that are made once for each key and never change: any thread may ask, and a reference
/// holds as long as this does. What `make` throws is thrown again at the next call.
template <class Key, class Value>
class OnceForEach {
public:
    /// `make` may ask for other keys of this one.
    template <class Make>
    const Value& get(const Key& key, const Make& make) {
        const std::scoped_lock held(mutex_);
        const auto known = made_.find(key);
        return known != made_.end() ? known->second : made_.emplace(key, make()).first->second;
    }

private:
    std::recursive_mutex mutex_;
    std::map<Key, Value> made_;
};

}  // namespace raceline
