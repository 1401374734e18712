// SPDX-License-Identifier: Apache-2.0
// The compiler's report on device code, read from the cubins inside an object file: what cuobjdump
// --dump-resource-usage prints, without needing it installed. A cubin is an ELF file; attributes of
// its functions stand in .nv.info as (format, attribute, size, payload) records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace raceline::test {

struct FunctionReport {
    int sm = 0;
    int registers = 0;
    std::int64_t stack_bytes = 0;  ///< a spill or a local array takes stack
    std::int64_t static_smem = 0;  ///< with what the system reserves of every CTA
};

class Cubin {
public:
    Cubin(std::string_view bytes) : bytes_(bytes) {}

    /// By mangled name.
    [[nodiscard]] std::map<std::string, FunctionReport> functions() const {
        std::map<std::string, FunctionReport> found;
        read_sections();
        for (const Section& s : sections_) {
            if (s.name == ".nv.info") {
                read_attributes(s, found);
            }
        }
        for (const Section& s : sections_) {
            constexpr std::string_view prefix = ".nv.shared.";
            if (s.name.starts_with(prefix)) {
                const auto function = found.find(s.name.substr(prefix.size()));
                if (function != found.end()) {
                    function->second.static_smem = static_cast<std::int64_t>(s.size);
                }
            }
        }
        return found;
    }

    /// Machine code for `sm` by mangled name.
    [[nodiscard]] std::map<std::string, std::string> code(int sm) const {
        std::map<std::string, std::string> found;
        read_sections();
        for (const Section& s : sections_) {
            constexpr std::string_view prefix = ".text.";
            if (s.name.starts_with(prefix) && architecture() == sm &&
                s.offset + s.size <= bytes_.size()) {
                found[s.name.substr(prefix.size())] = bytes_.substr(s.offset, s.size);
            }
        }
        return found;
    }

private:
    [[nodiscard]] int architecture() const {
        return static_cast<int>((at<std::uint32_t>(48) >> 8) & 0xFF);
    }
    struct Section {
        std::string name;
        std::uint32_t type = 0, link = 0;
        std::uint64_t offset = 0, size = 0;
    };

    template <class T>
    [[nodiscard]] T at(std::uint64_t offset) const {
        T value{};
        if (offset + sizeof(T) <= bytes_.size()) {
            std::memcpy(&value, bytes_.data() + offset, sizeof(T));
        }
        return value;
    }
    [[nodiscard]] std::string text(std::uint64_t offset) const {
        const auto end = bytes_.find('\0', offset);
        return std::string(bytes_.substr(offset, end - offset));
    }

    void read_sections() const {
        sections_.clear();
        const auto table = at<std::uint64_t>(40);
        const auto entry = at<std::uint16_t>(58);
        const auto count = at<std::uint16_t>(60);
        const auto names =
            at<std::uint64_t>(table + std::uint64_t{entry} * at<std::uint16_t>(62) + 24);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t header = table + i * entry;
            sections_.push_back({text(names + at<std::uint32_t>(header)),
                                 at<std::uint32_t>(header + 4), at<std::uint32_t>(header + 40),
                                 at<std::uint64_t>(header + 24), at<std::uint64_t>(header + 32)});
        }
    }

    [[nodiscard]] std::string symbol(std::uint32_t index) const {
        for (const Section& s : sections_) {
            constexpr std::uint32_t symbol_table = 2;
            if (s.type == symbol_table) {
                const auto name = at<std::uint32_t>(s.offset + std::uint64_t{24} * index);
                return text(sections_[s.link].offset + name);
            }
        }
        return {};
    }

    void read_attributes(const Section& s, std::map<std::string, FunctionReport>& found) const {
        constexpr int sized = 4;  // payload follows; other formats are 4 bytes in all
        constexpr int frame_size = 0x11;
        constexpr int register_count = 0x2f;
        const int sm = architecture();
        for (std::uint64_t p = s.offset; p + 4 <= s.offset + s.size;) {
            const int format = at<std::uint8_t>(p);
            const int attribute = at<std::uint8_t>(p + 1);
            const std::uint64_t payload = format == sized ? at<std::uint16_t>(p + 2) : 0;
            if (format == sized && payload == 8 &&
                (attribute == frame_size || attribute == register_count)) {
                FunctionReport& f = found[symbol(at<std::uint32_t>(p + 4))];
                f.sm = sm;
                const auto value = at<std::uint32_t>(p + 8);
                if (attribute == frame_size) {
                    f.stack_bytes = value;
                } else {
                    f.registers = static_cast<int>(value);
                }
            }
            p += 4 + payload;
        }
    }

    std::string_view bytes_;
    mutable std::vector<Section> sections_;
};

/// Calls `visit` with every cubin in an object file, which is itself an ELF file: the first magic
/// number is its own.
template <class Visit>
void each_cubin(const std::string& object, const Visit& visit) {
    std::ifstream file(object, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view magic =
        "\x7f"
        "ELF";
    for (auto p = bytes.find(magic, 1); p != std::string::npos; p = bytes.find(magic, p + 1)) {
        visit(Cubin(std::string_view(bytes).substr(p)));
    }
}

/// Functions of every cubin in an object file that was compiled for `sm`, by mangled name.
inline std::map<std::string, FunctionReport> compiler_report(const std::string& object, int sm) {
    std::map<std::string, FunctionReport> all;
    each_cubin(object, [&](const Cubin& cubin) {
        for (const auto& [name, f] : cubin.functions()) {
            if (f.sm == sm) {
                all[name] = f;
            }
        }
    });
    return all;
}

/// Machine code of the same functions.
inline std::map<std::string, std::string> machine_code(const std::string& object, int sm) {
    std::map<std::string, std::string> all;
    each_cubin(object, [&](const Cubin& cubin) { all.merge(cubin.code(sm)); });
    return all;
}

}  // namespace raceline::test
