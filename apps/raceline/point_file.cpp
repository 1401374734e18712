// SPDX-License-Identifier: Apache-2.0
#include "point_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csv.h>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "support/check.hpp"
#include "support/json.hpp"
#include "support/nearest.hpp"
#include "support/text_table.hpp"

namespace raceline::cli {
namespace {

constexpr std::array<std::string_view, 6> members{"name",    "flops",  "bytes",
                                                  "seconds", "engine", "memory"};

void require_member(std::string_view member, std::string_view where) {
    if (std::ranges::find(members, member) == members.end()) {
        fail(Status::invalid_argument, "{}: a point has no '{}'{}", where, member,
             did_you_mean(member, members, fmt::format("it has {}", fmt::join(members, ", "))));
    }
}

double number_of(std::string_view text, std::string_view member, std::string_view where) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(error == std::errc{} && end == text.data() + text.size() && std::isfinite(value),
            Status::invalid_argument, "{}: {} is '{}'; it must be a number such as 4e12{}", where,
            member, text.substr(0, 40),
            text.find(',') == std::string_view::npos ? "" : ", with a decimal point");
    const std::string fault = amount_fault(member, value);
    require(fault.empty(), Status::invalid_argument, "{}: {} '{}' {}", where, member,
            text.substr(0, 40), fault);
    return value;
}

// An empty text leaves what is there.
void set_member(NamedPoint& point, std::string_view member, const std::string& text,
                std::string_view where) {
    if (text.empty()) {
        return;
    }
    if (member == "name") {
        point.name = text;
    } else if (member == "engine") {
        point.work.engine = text;
    } else if (member == "memory") {
        point.work.memory = text;
    } else {
        double& amount = member == "flops"   ? point.work.flops
                         : member == "bytes" ? point.work.bytes
                                             : point.work.seconds;
        amount = number_of(text, member, where);
    }
}

struct Row {
    std::size_t line;  ///< that it begins on, from 1
    std::vector<std::string> cells;
};

struct Table {
    std::vector<Row> rows;
    Row row{1, {}};
};

std::string at_line(std::string_view where, std::size_t line) {
    return fmt::format("{}: line {}", where, line);
}

// libcsv calls these for each cell and each row.
void end_of_cell(void* text, std::size_t bytes, void* table) {
    static_cast<Table*>(table)->row.cells.emplace_back(static_cast<const char*>(text), bytes);
}

void end_of_row(int /*last*/, void* given) {
    auto* table = static_cast<Table*>(given);
    table->rows.push_back(std::move(table->row));
    table->row.cells.clear();
}

// The text up to its first end of a line, and with it: "\n", "\r\n", or "\r" of old ones.
std::string_view first_line(std::string_view text) {
    const std::size_t end = text.find_first_of("\r\n");
    return text.substr(0, end == std::string_view::npos   ? end
                          : text.substr(end, 2) == "\r\n" ? end + 2
                                                          : end + 1);
}

// Spreadsheets of countries that write a decimal comma separate by semicolons; what is copied out
// of one has tabs.
char separator_of(std::string_view header) {
    for (const char other : {';', '\t'}) {
        if (header.find(',') == std::string_view::npos &&
            header.find(other) != std::string_view::npos) {
            return other;
        }
    }
    return ',';
}

// libcsv says nothing of lines: it gets them one by one.
std::vector<Row> rows_of(std::string_view text, std::string_view where) {
    csv_parser parser;
    require(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0,
            Status::internal, "libcsv does not start");
    const std::size_t header = text.find_first_not_of(" \t\r\n");
    csv_set_delim(&parser,
                  static_cast<unsigned char>(separator_of(first_line(text.substr(header)))));
    Table table;
    bool whole = true;
    bool begun = false;  // a row, whose quotes hold the end of a line
    for (std::size_t line = 1; whole && !text.empty(); ++line) {
        const std::string_view its = first_line(text);
        text.remove_prefix(its.size());
        table.row.line = begun ? table.row.line : line;
        const std::size_t before = table.rows.size();
        whole = csv_parse(&parser, its.data(), its.size(), end_of_cell, end_of_row, &table) ==
                its.size();
        const bool blank = its.find_first_not_of(" \t\r\n") == std::string_view::npos;
        begun = table.rows.size() == before && (begun || !blank);
    }
    whole = whole && csv_fini(&parser, end_of_cell, end_of_row, &table) == 0;
    const std::string reason = csv_strerror(csv_error(&parser));
    csv_free(&parser);
    require(whole, Status::invalid_argument, "{}: from here on it is no CSV: {}",
            at_line(where, table.row.line), reason);
    return table.rows;
}

std::vector<NamedPoint> points_of_csv(std::string_view text, std::string_view where,
                                      const WorkPoint& otherwise) {
    const std::vector<Row> rows = rows_of(text, where);
    require(!rows.empty(), Status::invalid_argument, "{}: it has no line that names its columns",
            where);
    const std::vector<std::string>& columns = rows.front().cells;
    const std::string header = at_line(where, rows.front().line);
    for (const std::string& column : columns) {
        require_member(column, header);
        require(std::ranges::count(columns, column) == 1, Status::invalid_argument,
                "{}: column {} is there twice", header, column);
    }
    std::vector<NamedPoint> points;
    points.reserve(rows.size());
    for (const auto& [line, cells] : std::span(rows).subspan(1)) {
        const std::string at = at_line(where, line);
        require(cells.size() == columns.size(), Status::invalid_argument,
                "{} has {}; line {} names {}", at, counted_text(cells.size(), "cell"),
                rows.front().line, counted_text(columns.size(), "column"));
        NamedPoint& point = points.emplace_back(NamedPoint{{}, otherwise, at});
        for (std::size_t column = 0; column < columns.size(); ++column) {
            set_member(point, columns[column], cells[column], at);
        }
    }
    return points;
}

NamedPoint point_of_json(const Json& object, const std::string& where, const WorkPoint& otherwise) {
    require(object.is_object(), Status::invalid_argument, "{}: it is no object with members {}",
            where, fmt::join(members, ", "));
    NamedPoint point{{}, otherwise, where};
    for (const auto& [member, value] : object.items()) {
        require_member(member, where);
        const bool words = member == "name" || member == "engine" || member == "memory";
        require(words ? value.is_string() : value.is_number(), Status::invalid_argument,
                "{}: {} is {}; it must be a {}", where, member, value.dump().substr(0, 40),
                words ? "text" : "number");
        set_member(point, member, words ? value.get<std::string>() : value.dump(), where);
    }
    return point;
}

// The lines on which the values of an array begin, of text that is one.
std::vector<std::size_t> lines_of_values(std::string_view text) {
    std::vector<std::size_t> lines;
    std::size_t line = 1;
    int depth = 0;
    bool quoted = false;
    bool expected = false;  // a value of the array comes next
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        line += c == '\n' ? 1 : 0;
        if (quoted) {
            i += c == '\\' ? 1 : 0;
            quoted = c != '"';
            continue;
        }
        const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (expected && !space && c != ']') {
            lines.push_back(line);
            expected = false;
        }
        quoted = c == '"';
        depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        expected = expected || (depth == 1 && (c == ',' || (c == '[' && lines.empty())));
    }
    return lines;
}

std::vector<NamedPoint> points_of_array(std::string_view text, std::string_view where,
                                        const WorkPoint& otherwise) {
    const Json array = parse_json(text, where);
    const std::vector<std::size_t> lines = lines_of_values(text);
    std::vector<NamedPoint> points;
    points.reserve(array.size());
    for (std::size_t i = 0; i < array.size(); ++i) {
        points.push_back(point_of_json(array[i], at_line(where, lines.at(i)), otherwise));
    }
    return points;
}

std::vector<NamedPoint> points_of_lines(std::string_view text, std::string_view where,
                                        const WorkPoint& otherwise) {
    std::vector<NamedPoint> points;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view object = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string at = at_line(where, line);
        if (object.find_first_not_of(" \t\r") != std::string_view::npos) {
            points.push_back(point_of_json(parse_json(object, at), at, otherwise));
        }
    }
    return points;
}

}  // namespace

std::string amount_fault(std::string_view member, double value) {
    constexpr double least = 1e-30;
    constexpr double most = 1e30;
    if (std::isnan(value) || value < 0) {
        return "is no number of 0 or more, such as 250e-6";
    }
    if (member == "seconds" && value == 0) {
        return "is no time that anything takes; leave it out where nothing was measured";
    }
    if (value != 0 && !(value >= least && value <= most)) {
        return "is beyond any machine's: from 1e-30 to 1e30 is accepted";
    }
    return {};
}

std::vector<NamedPoint> parse_points(std::string_view text, std::string_view where,
                                     const WorkPoint& otherwise) {
    // Spreadsheets begin a file in UTF-8 with a byte order mark.
    if (constexpr std::string_view mark = "\xEF\xBB\xBF"; text.starts_with(mark)) {
        text.remove_prefix(mark.size());
    }
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    require(first != std::string_view::npos, Status::invalid_argument, "{}: it is empty", where);
    std::vector<NamedPoint> points = text[first] == '['   ? points_of_array(text, where, otherwise)
                                     : text[first] == '{' ? points_of_lines(text, where, otherwise)
                                                          : points_of_csv(text, where, otherwise);
    require(!points.empty(), Status::invalid_argument, "{}: it has no point", where);
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].name.empty()) {
            points[i].name = fmt::format("point {}", i + 1);
        }
    }
    return points;
}

std::vector<NamedPoint> read_points(const std::string& path, const WorkPoint& otherwise) {
    namespace fs = std::filesystem;
    constexpr std::size_t most = 64U << 20U;
    std::error_code ignored;
    const fs::file_type type = fs::status(path, ignored).type();
    require(type != fs::file_type::character && type != fs::file_type::block &&
                type != fs::file_type::directory,
            Status::invalid_argument, "{} is no file of points but a {}; name a CSV or JSON file",
            path, type == fs::file_type::directory ? "folder" : "device");
    std::ifstream in(path, std::ios::binary);
    require(in.good(), Status::io, "{}: cannot be opened", path);
    std::string text(most + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    require(!in.bad(), Status::io, "{}: cannot be read", path);
    text.resize(static_cast<std::size_t>(in.gcount()));
    require(text.size() <= most, Status::invalid_argument,
            "{}: it has more than {} MiB, the most that are read", path, most >> 20U);
    const auto is_of_text = [](char c) {
        return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
    };
    require(std::ranges::all_of(text, is_of_text), Status::invalid_argument,
            "{} is no file of points: it holds bytes that no text has; name a CSV or JSON file",
            path);
    return parse_points(text, path, otherwise);
}

}  // namespace raceline::cli
