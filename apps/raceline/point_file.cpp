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
            Status::invalid_argument, "{}: {} is '{}'; it must be a number such as 4e12", where,
            member, text.substr(0, 40));
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

struct Table {
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
};

// libcsv calls these for each cell and each line.
void end_of_cell(void* text, std::size_t bytes, void* table) {
    static_cast<Table*>(table)->row.emplace_back(static_cast<const char*>(text), bytes);
}

void end_of_line(int /*last*/, void* given) {
    auto* table = static_cast<Table*>(given);
    table->rows.push_back(std::move(table->row));
    table->row.clear();
}

std::vector<std::vector<std::string>> cells_of(std::string_view text, std::string_view where) {
    csv_parser parser;
    require(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0,
            Status::internal, "libcsv does not start");
    Table table;
    const std::size_t read =
        csv_parse(&parser, text.data(), text.size(), end_of_cell, end_of_line, &table);
    const bool whole =
        read == text.size() && csv_fini(&parser, end_of_cell, end_of_line, &table) == 0;
    const std::string reason = csv_strerror(csv_error(&parser));
    csv_free(&parser);
    require(whole, Status::invalid_argument,
            "{}: what stands behind the first {} that {} not empty is no CSV: {}", where,
            counted_text(table.rows.size(), "line"), table.rows.size() == 1 ? "is" : "are", reason);
    return table.rows;
}

std::vector<NamedPoint> points_of_csv(std::string_view text, std::string_view where,
                                      const WorkPoint& otherwise) {
    const auto rows = cells_of(text, where);
    require(!rows.empty(), Status::invalid_argument, "{}: it has no line that names its columns",
            where);
    const std::vector<std::string>& columns = rows.front();
    for (const std::string& column : columns) {
        require_member(column, where);
        require(std::ranges::count(columns, column) == 1, Status::invalid_argument,
                "{}: column {} is there twice", where, column);
    }
    std::vector<NamedPoint> points;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::string at = fmt::format("{}: point {}", where, i);
        require(rows[i].size() == columns.size(), Status::invalid_argument,
                "{} has {}; the first line names {}", at, counted_text(rows[i].size(), "cell"),
                counted_text(columns.size(), "column"));
        NamedPoint& point = points.emplace_back(NamedPoint{{}, otherwise});
        for (std::size_t column = 0; column < columns.size(); ++column) {
            set_member(point, columns[column], rows[i][column], at);
        }
    }
    return points;
}

NamedPoint point_of_json(const Json& object, const std::string& where, const WorkPoint& otherwise) {
    require(object.is_object(), Status::invalid_argument, "{}: it is no object with members {}",
            where, fmt::join(members, ", "));
    NamedPoint point{{}, otherwise};
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

std::vector<NamedPoint> points_of_json(std::string_view text, std::string_view where,
                                       const WorkPoint& otherwise) {
    std::vector<NamedPoint> points;
    if (text.front() == '[') {
        for (const Json& object : parse_json(text, where)) {
            points.push_back(point_of_json(
                object, fmt::format("{}: point {}", where, points.size() + 1), otherwise));
        }
        return points;
    }
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view object = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string at = fmt::format("{}: line {}", where, line);
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
    const bool json = text[first] == '[' || text[first] == '{';
    std::vector<NamedPoint> points = json ? points_of_json(text.substr(first), where, otherwise)
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
