// SPDX-License-Identifier: Apache-2.0
#include "plot/roof_lines.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <ranges>

#include "support/text_table.hpp"

namespace raceline {
namespace {

// Pixels between the end of a roof and its name, which a line crosses.
constexpr double leader_width = 16;

std::string engine_name(const Roof& roof) {
    return fmt::format("{} {}{}", roof.name, format_si(roof.rate, "FLOP/s"),
                       roof.measured ? "" : " (datasheet)");
}

// Names that touch each other, as one block: the lines of it, and the mean height that puts each
// nearest to its roof.
struct NameBlock {
    double lines, lowest;  // `lowest`: the height of its first name, in lines
};

// Heights of names beside roofs of these rates, the lowest first: apart from each other, within the
// panel, and together as near to their roofs as that allows.
std::vector<double> heights_of(const Panel& panel, const std::vector<Roof>& engines,
                               const Place& place) {
    const double apart = line_share(place);
    std::vector<NameBlock> blocks;
    for (const Roof& roof : engines) {
        NameBlock block{1, share_of(panel.y, roof.rate) / apart};
        while (!blocks.empty() && blocks.back().lowest + blocks.back().lines > block.lowest) {
            const NameBlock below = blocks.back();
            blocks.pop_back();
            const double lines = below.lines + block.lines;
            // Each name asks for a lowest one of the block; their mean.
            block.lowest =
                (below.lowest * below.lines + (block.lowest - below.lines) * block.lines) / lines;
            block.lines = lines;
        }
        blocks.push_back(block);
    }
    std::vector<double> heights;
    for (const NameBlock& block : blocks) {
        for (double i = 0; i < block.lines; ++i) {
            heights.push_back(block.lowest + i);
        }
    }
    double most = 1 / apart;
    for (double& height : std::views::reverse(heights)) {
        height = std::min(height, most);
        most = height - 1;
    }
    for (double& height : heights) {
        height = panel.y.low * std::pow(panel.y.high / panel.y.low, height * apart);
    }
    return heights;
}

std::size_t covered_by(const Box& box, const std::vector<Box>& others) {
    return static_cast<std::size_t>(
        std::ranges::count_if(others, [&](const Box& other) { return overlap(box, other); }));
}

// Boxes of the lines that run along the x axis: of engines.
std::vector<Box> boxes_of_levels(const Panel& panel, const Place& place) {
    std::vector<Box> boxes;
    for (const Series& series : panel.series) {
        if (series.line != Line::none && series.points.size() == 2 &&
            series.points[0].y == series.points[1].y) {
            const double from = share_of(panel.x, series.points[0].x) * place.width;
            const double to = share_of(panel.x, series.points[1].x) * place.width;
            const double y = share_of(panel.y, series.points[0].y) * place.height;
            boxes.push_back({{{from, y - 1}, {to, y - 1}, {to, y + 1}, {from, y + 1}}});
        }
    }
    return boxes;
}

// Along a diagonal, from where it enters the panel: the first place above it, or below it, where
// the name covers nothing, no other roof either; false where there is none.
bool put_off_roofs(Panel& panel, const Place& place, double rate, double top, ChartText name) {
    std::vector<Box> others = boxes_of_words(panel, place);
    for (const std::vector<Box>& more :
         {boxes_of_marks(panel, place), boxes_of_roofs(panel, place)}) {
        others.insert(others.end(), more.begin(), more.end());
    }
    const double from = std::max(panel.x.low, panel.y.low / rate);
    const double to = std::min(panel.x.high, panel.y.high / rate);
    const double highest = std::min(1.0, share_of(panel.y, top)) * place.height;
    constexpr int steps = 50;
    for (const bool under : {name.under, !name.under}) {
        name.under = under;
        for (int i = 1; i < steps; ++i) {
            name.x = from * std::pow(to / from, static_cast<double>(i) / steps);
            name.y = name.x * rate;
            name.towards = {2 * name.x, 2 * name.y};
            const Box box = box_of(panel, place, name);
            const bool inside = std::ranges::all_of(box, [&](const auto& corner) {
                return corner.first > 0 && corner.second > 0 && corner.first < place.width;
            });
            if (inside && box[1].second < highest && covered_by(box, others) == 0) {
                panel.texts.push_back(std::move(name));
                return true;
            }
        }
    }
    return false;
}

// Along a diagonal, from where it enters the panel: the first place where the name covers nothing,
// lines of engines neither if there is one, and ends on the diagonal; where marks stand all along
// it, the same a line higher, over what no mark passes; else of those where it covers no words the
// one with fewest marks, and false. `top`: where the diagonal ends.
bool put_along(Panel& panel, const Place& place, double rate, double top, ChartText name) {
    if (put_off_roofs(panel, place, rate, top, name)) {
        return true;
    }
    const std::vector<Box> words = boxes_of_words(panel, place);
    const std::vector<Box> marks = boxes_of_marks(panel, place);
    const double from = std::max(panel.x.low, panel.y.low / rate);
    const double to = std::min(panel.x.high, panel.y.high / rate);
    const double highest = std::min(1.0, share_of(panel.y, top)) * place.height;
    constexpr int steps = 50;
    const std::vector<Box> levels = boxes_of_levels(panel, place);
    std::optional<ChartText> crossed;
    std::optional<ChartText> second;
    std::size_t fewest = 2 * marks.size() + 1;
    const double line = std::pow(panel.y.high / panel.y.low, line_share(place));
    constexpr int heights = 3;
    for (int i = 1; i < heights * steps; ++i) {
        if (i == steps && crossed) {
            break;
        }
        name.x = from * std::pow(to / from, static_cast<double>(i % steps) / steps);
        name.y = name.x * rate * std::pow(line, i / steps);
        name.towards = {2 * name.x, 2 * name.y};
        const Box box = box_of(panel, place, name);
        const bool begins = std::ranges::all_of(
            box, [](const auto& corner) { return corner.first > 0 && corner.second > 0; });
        const bool ends = box[1].first < place.width && box[1].second < highest;
        if (!begins || covered_by(box, words) > 0) {
            continue;
        }
        const std::size_t covered = covered_by(box, marks);
        if (ends && covered == 0 && covered_by(box, levels) == 0) {
            panel.texts.push_back(std::move(name));
            return true;
        }
        if (ends && covered == 0) {
            crossed = crossed ? crossed : name;
        } else if (const std::size_t bad = covered + (ends ? 0 : marks.size()); bad < fewest) {
            second = name;
            fewest = bad;
        }
    }
    if (crossed) {
        panel.texts.push_back(*std::move(crossed));
        return true;
    }
    panel.texts.push_back(second ? *std::move(second) : std::move(name));
    return false;
}

}  // namespace

void make_room_for_names(Panel& panel, const std::vector<Roof>& engines) {
    std::size_t longest = 0;
    for (const Roof& roof : engines) {
        longest = std::max(longest, letters(engine_name(roof)));
    }
    panel.right_margin = 24 + leader_width + letter_width * static_cast<double>(longest);
}

void add_engine_names(Panel& panel, const std::vector<Roof>& engines, const Place& place) {
    const std::vector<double> heights = heights_of(panel, engines, place);
    for (std::size_t i = 0; i < engines.size(); ++i) {
        const double off = std::pow(panel.x.high / panel.x.low, (leader_width + 3) / place.width);
        panel.texts.push_back({.x = panel.x.high * off,
                               .y = heights[i],
                               .text = engine_name(engines[i]),
                               .colour = Colour::black,
                               .align = Align::left,
                               .led_from = std::pair(panel.x.high, engines[i].rate)});
    }
}

void add_roofs(Panel& panel, const Roofs& roofs, Line line, const std::string& title) {
    if (roofs.memory.empty() || roofs.engines.empty()) {
        return;
    }
    const double top = roofs.engines.back().rate;
    bool first = true;
    for (const Roof& roof : roofs.memory) {
        const double ridge = top / roof.rate;
        panel.series.push_back({.title = first ? title : "",
                                .colour = Colour::grey,
                                .line = line,
                                .width = 1.4,
                                .points = {{panel.x.low, panel.x.low * roof.rate}, {ridge, top}}});
        first = false;
    }
    const double slowest = roofs.memory.front().rate;
    for (const Roof& roof : roofs.engines) {
        panel.series.push_back(
            {.title = {},
             .colour = Colour::grey,
             .line = line,
             .width = 1.4,
             .points = {{std::max(panel.x.low, roof.rate / roofs.memory.back().rate), roof.rate},
                        {std::max(panel.x.high, roof.rate / slowest), roof.rate}}});
    }
}

void add_roof_extent(const Roofs& roofs, std::vector<double>& x, std::vector<double>& y) {
    if (!roofs.memory.empty() && !roofs.engines.empty()) {
        x.push_back(roofs.engines.back().rate / roofs.memory.front().rate);
        x.push_back(roofs.engines.back().rate / roofs.memory.back().rate / 3);
        y.push_back(roofs.engines.back().rate);
        y.push_back(roofs.engines.front().rate / 2);
    }
}

bool add_memory_names(Panel& panel, const Roofs& roofs, const std::string& device,
                      const Place& place) {
    const double top = roofs.engines.empty() ? panel.y.high : roofs.engines.back().rate;
    const std::vector<ChartText> before = panel.texts;
    // Where diagonals lie close to each other, the name of the slowest stands below its own, where
    // no other one is.
    for (const bool slowest_under : {false, true}) {
        panel.texts = before;
        bool fit = true;
        for (const Roof& roof : roofs.memory) {
            const std::string name =
                fmt::format("{}{} {}{}", device, roof.name, format_si(roof.rate, "B/s"),
                            roof.measured ? "" : " (datasheet)");
            fit &= put_along(panel, place, roof.rate, top,
                             {.text = name,
                              .colour = Colour::black,
                              .align = Align::left,
                              .under = slowest_under && &roof == &roofs.memory.front()});
        }
        if (fit) {
            return true;
        }
    }
    return false;
}

std::string shared_memory_note(const Roofs& roofs) {
    return std::ranges::count(roofs.memory, "byte.smem_lsu", &Roof::resource) == 0
               ? ""
               : "SMEM: loads and stores share the banks of shared memory, so that the bytes of "
                 "both together have this roof.";
}

}  // namespace raceline
