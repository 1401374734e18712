// SPDX-License-Identifier: Apache-2.0
#include "help.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "workload/operation.hpp"
#include "workload/operation_suites.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline::cli {
namespace {

constexpr std::size_t name_column = 22;  // of what stands left of an explanation

// "  name            what it is", the explanation in lines of its own column.
std::string entry(const std::string& name, const std::string& meaning, const TextStyle& style) {
    const std::size_t room = style.columns > 2 * name_column ? style.columns - name_column : 0;
    const bool beside = text_width(name) + 2 <= name_column - 2;
    std::string text = beside ? "" : "  " + name + "\n";
    for (const std::string& line : broken_lines(meaning, room)) {
        text += fmt::format("{:<{}}{}\n", text.empty() ? "  " + name : "", name_column, line);
    }
    return text;
}

class HelpFormatter : public CLI::Formatter {
public:
    explicit HelpFormatter(const TextStyle& style) : style_(style) {
        label("SUBCOMMAND", "COMMAND");
    }

    std::string make_option(const CLI::Option* option, bool positional) const override {
        return entry(make_option_name(option, positional) + make_option_opts(option),
                     make_option_desc(option), style_);
    }
    // What its value is.
    std::string make_option_opts(const CLI::Option* option) const override {
        const bool valued = option->get_type_size() != 0 && option->get_items_expected_max() > 0;
        return valued ? " " + option->get_type_name() : "";
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        return option->get_description() + named("needs", option->get_needs()) +
               named("not with", option->get_excludes());
    }
    std::string make_subcommand(const CLI::App* command) const override {
        return entry(command->get_name(), command->get_description(), style_);
    }
    std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
        const bool whole = app->get_parent() == nullptr;
        return CLI::Formatter::make_usage(app, whole ? "raceline" : "raceline " + app->get_name());
    }
    std::string make_description(const CLI::App* app) const override {
        return paragraph(app->get_description(), style_, 0);
    }
    std::string make_footer(const CLI::App* app) const override {
        std::istringstream lines(app->get_footer());
        std::string text;
        for (std::string line; std::getline(lines, line);) {
            text += laid_out(line);
        }
        return text;
    }
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        std::istringstream lines(CLI::Formatter::make_help(app, std::move(name), mode));
        std::string text;
        for (std::string line; std::getline(lines, line);) {
            const bool heading = line.ends_with(':') && !line.starts_with(' ');
            text += inked(line, heading ? Ink::heading : Ink::plain, style_) + "\n";
        }
        return text;
    }

private:
    static std::string named(std::string_view how, const std::set<CLI::Option*>& options) {
        std::vector<std::string> names;
        names.reserve(options.size());
        for (const CLI::Option* option : options) {
            names.push_back(option->get_name());
        }
        std::ranges::sort(names);  // they are in the order of their addresses
        return names.empty() ? "" : fmt::format("; {} {}", how, fmt::join(names, ", "));
    }
    // A line of a footer: an entry whose name and meaning stand apart, or a sentence. An example is
    // to be copied, and stays one line.
    [[nodiscard]] std::string laid_out(const std::string& line) const {
        const std::size_t tab = line.find('\t');
        if (tab != std::string::npos) {
            return entry(line.substr(0, tab), line.substr(tab + 1), style_);
        }
        return line.find("raceline ") != std::string::npos ? line + "\n"
                                                           : paragraph(line, style_, 0);
    }
    TextStyle style_;
};

std::string field_meaning(const ShapeField& field) {
    std::string text(field.meaning);
    text += field.fallback.empty() ? " (required)" : fmt::format(" ({})", field.fallback);
    std::string aliases(field.aliases);
    for (std::size_t at = aliases.find(' '); at != std::string::npos; at = aliases.find(' ', at)) {
        aliases.replace(at, 1, ", ");
        at += 2;
    }
    return aliases.empty() ? text : fmt::format("{}; also {}", text, aliases);
}

// An operation and its fields. That of chains goes by the steps of its first example.
std::string operation_line(const OperationRecord& operation) {
    const std::string_view example = operation.examples.value.front();
    std::string fields;
    for (const OperationField& field : operation.fields.value) {
        if (field.kind != FieldKind::chain) {
            fields += fmt::format("{}{}", fields.empty() ? "" : ", ", field.name);
        }
    }
    return fmt::format("{}\t{}{}; its fields: {}, dtype\n", example.substr(0, example.find(',')),
                       operation.summary.value,
                       operation.chain == nullptr
                           ? ""
                           : fmt::format("; or a chain, with + between the steps, of {}",
                                         fmt::join(operation.chain->steps, ", ")),
                       fields);
}

std::string shapes_help() {
    std::string text = "Fields of a shape, split by commas (in brackets: if left out):\n";
    for (const ShapeField& field : shape_fields()) {
        text += fmt::format("{}\t{}\n", field.written, field_meaning(field));
    }
    for (const OperationRecord* operation : all_operations()) {
        if (operation->name.value != Workload{}.op) {
            text += operation_line(*operation);
        }
    }
    return text + "\n";
}

std::string suites_help() {
    return fmt::format(
        "Suites:\n"
        "benchmarks\t{} random:SEED serving:SEED operations:SEED operations-any:SEED\n"
        "a decoder layer\tlayer:MODEL:prefill=TOKENS layer:MODEL:decode=SEQUENCESxKEYS; MODEL: {}\n"
        "measured by tools/\t{}\n"
        "checked by tools/\t{}\n"
        "NAME:128\tthe part of one of these with head dims over 64, up to 128\n"
        "docs/shapes.md says what is in each.\n\n",
        fmt::join(suite_names(SuiteGroup::benchmark), " "), fmt::join(layer_models(), " "),
        fmt::join(suite_names(SuiteGroup::measurement), " "),
        fmt::join(suite_names(SuiteGroup::check), " "));
}

}  // namespace

void lay_out_help(CLI::App& app, const TextStyle& style) {
    const auto formatter = std::make_shared<HelpFormatter>(style);
    app.formatter(formatter);
    for (CLI::App* command : app.get_subcommands({})) {
        command->formatter(formatter);
    }
}

std::string shapes_and_suites_help() {
    return shapes_help() + suites_help();
}

std::vector<std::string> names_of_dtypes() {
    std::vector<std::string> names = names_of_cache_dtypes();
    std::erase(names, name_of(DType::nvfp4));
    return names;
}

std::vector<std::string> names_of_cache_dtypes() {
    std::vector<std::string> names;
    for (const DTypeNames& type : dtype_names()) {
        names.emplace_back(name_of(type.dtype));
    }
    return names;
}

}  // namespace raceline::cli
