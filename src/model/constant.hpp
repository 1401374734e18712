// SPDX-License-Identifier: Apache-2.0
// Where a number of the model comes from, as part of its type. Every number in a kernel's counts
// and clocks and in src/model is a `Constant` or a `counted` one, or says the size of something (0,
// 1, a power of two). A test finds the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace raceline {

enum class Origin {
    probe,       ///< measured by a probe that is not the kernel it predicts
    manual,      ///< a vendor's document or a paper
    code,        ///< counted in the source or in what the compiler made of it
    assumed,     ///< neither documented nor measured, and not fitted to anything
    calibrated,  ///< fitted to, or read by clock() inside of, the kernel that it predicts
};
std::string_view origin_name(Origin origin);

/// A named number with its origin. Used as a double, it is its value, or, for a calibrated one
/// under a ConstantWatch that asks for it, its stand-in.
struct Constant {
    std::string_view name;
    double value = 0;
    Origin origin = Origin::assumed;
    std::string_view source;  ///< which probe, page, loop or receipts
    double stand_in = 0;      ///< of a calibrated one: what a probe, a manual or the code says
    std::string_view stand_in_source{};

    operator double() const;  // NOLINT(google-explicit-constructor): it stands where a number did

    bool operator==(const Constant&) const = default;
};

constexpr Constant probe(std::string_view name, double value, std::string_view source) {
    return {name, value, Origin::probe, source, value};
}
constexpr Constant manual(std::string_view name, double value, std::string_view source) {
    return {name, value, Origin::manual, source, value};
}
constexpr Constant code(std::string_view name, double value, std::string_view source) {
    return {name, value, Origin::code, source, value};
}
constexpr Constant assumed(std::string_view name, double value, std::string_view source) {
    return {name, value, Origin::assumed, source, value};
}
/// `stand_in`: what takes its place in a prediction without calibrated constants; 0 with the words
/// "term dropped" where nothing else is known.
constexpr Constant calibrated(std::string_view name, double value, std::string_view receipts,
                              double stand_in, std::string_view stand_in_source) {
    return {name, value, Origin::calibrated, receipts, stand_in, stand_in_source};
}

/// A number that was counted in the code and has no name of its own: how many operations of which
/// loop. It is not listed by `predict --explain`, which prints the counts that come of it.
consteval double counted(double value, std::string_view /*loop*/) {
    return value;
}

/// While one lives on this thread, it notes which constants are used, each once, in the order of
/// first use. The innermost one counts.
class ConstantWatch {
public:
    enum class Calibrated { value, stand_in };
    explicit ConstantWatch(Calibrated calibrated);
    ~ConstantWatch();
    ConstantWatch(const ConstantWatch&) = delete;
    ConstantWatch& operator=(const ConstantWatch&) = delete;

    [[nodiscard]] const std::vector<Constant>& used() const { return used_; }

private:
    friend struct Constant;
    double value_of(const Constant& constant);

    Calibrated calibrated_;
    ConstantWatch* outer_;
    std::vector<Constant> used_;
};

/// How many of these are calibrated, and the SHA-256 of their names and values in the order of
/// their names, empty if there are none: which set of fitted numbers a prediction rests on.
struct CalibratedSet {
    int count = 0;
    std::string hash;

    bool operator==(const CalibratedSet&) const = default;
};
CalibratedSet calibrated_set(const std::vector<Constant>& used);

}  // namespace raceline
