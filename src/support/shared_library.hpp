// SPDX-License-Identifier: Apache-2.0
// A library that is loaded by dlopen when it is first needed: what this program runs without.
#pragma once

#include <dlfcn.h>
#include <initializer_list>

namespace raceline {

class SharedLibrary {
public:
    /// The first of these that the machine has. It stays loaded.
    explicit SharedLibrary(std::initializer_list<const char*> names) {
        for (const char* name : names) {
            handle_ = handle_ != nullptr ? handle_ : dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
    }

    [[nodiscard]] bool loaded() const { return handle_ != nullptr; }

    /// The library's function `name`; false, and null, if it has none or is not there.
    template <class Function>
    bool find(Function*& function, const char* name) const {
        function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
        return function != nullptr;
    }

private:
    void* handle_ = nullptr;
};

}  // namespace raceline
