// SPDX-License-Identifier: Apache-2.0
#include "page/page.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>
#include <zlib.h>

#include "page/compressed.hpp"
#include "page/page_parts.hpp"
#include "page/receipt_text.hpp"
#include "page/row_columns.hpp"
#include "raceline/error.hpp"
#include "receipt/stored_text.hpp"

namespace raceline {
namespace {

std::string decoded(const std::string& text) {
    const std::string letters =
        "!\"#$%'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz"
        "{|}~";
    EXPECT_EQ(letters.size(), 91U);
    std::string bytes;
    std::uint32_t held = 0;
    int bits = 0;
    for (std::size_t at = 0; at < text.size(); at += 2) {
        const bool single = at + 1 == text.size();
        const auto first = static_cast<std::uint32_t>(letters.find(text[at]));
        const auto second = static_cast<std::uint32_t>(single ? 0 : letters.find(text[at + 1]));
        held = single ? held << 6 | first : held << 13 | (first * 91 + second);
        for (bits += single ? 6 : 13; bits >= 8;) {
            bits -= 8;
            bytes += static_cast<char>(held >> bits & 0xff);
        }
    }
    return bytes;
}

std::string inflated(std::string bytes, std::size_t size) {
    std::string out(size, '\0');
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_EQ(stream.total_out, size);
    inflateEnd(&stream);
    return out;
}

TEST(Compressed, Base64IsReadWhereverItEnds) {
    EXPECT_EQ(from_base64("AGFzbQ=="), std::string("\0asm", 4));
    EXPECT_EQ(from_base64("AGFzbQE="), std::string("\0asm\1", 5));
    EXPECT_EQ(from_base64("AGFz\nbQH/"), std::string("\0asm\1\xff", 6));
    EXPECT_EQ(from_base64(""), "");
}

TEST(Compressed, ComesBackAsItWas) {
    std::string text = "{\"a\":1}\n";
    for (int i = 0; i < 12; ++i) {
        const std::string coded = compressed(text);
        EXPECT_EQ(coded.find_first_of("&<\\ \n"), std::string::npos);
        const std::string bytes = decoded(coded);
        EXPECT_LT(coded.size(), bytes.size() * 16 / 13 + 2);
        EXPECT_EQ(inflated(bytes, text.size()), text);
        text += text + static_cast<char>(i);
    }
}

class ReceiptTexts : public testing::Test {
protected:
    ReceiptTexts() {
        std::string form = (std::filesystem::temp_directory_path() / "page-XXXXXX").string();
        folder_ = mkdtemp(form.data());
    }
    ~ReceiptTexts() override { std::filesystem::remove_all(folder_); }
    std::string write(const std::string& text, const std::string& name = "r.jsonl") {
        const std::string path = folder_ / name;
        std::ofstream(path) << text;
        return path;
    }
    std::filesystem::path folder_;
};

TEST_F(ReceiptTexts, EveryLineStandsInAPieceThatNamesItsNumber) {
    std::string text;
    for (int line = 1; line <= 6000; ++line) {
        text += "line " + std::to_string(line) + std::string(1000, 'x') + "\n";
    }
    ReceiptText receipts;
    receipts.add(write("short\nunfinished", "a.jsonl"));
    receipts.add(write(text));
    receipts.add(write("short\n", "b.jsonl"));
    ASSERT_GT(receipts.blocks().size(), 2U);
    std::vector<std::string> whole(3);
    for (const TextPiece& piece : receipts.pieces()) {
        const auto& lines = receipts.blocks().at(piece.block);
        for (std::size_t i = 0; i < piece.lines; ++i) {
            const std::string& line = lines.at(piece.offset + i);
            whole.at(piece.file) += line + "\n";
            if (piece.file == 1) {
                EXPECT_TRUE(line.starts_with("line " + std::to_string(piece.first_line + i) + "x"));
            }
        }
    }
    EXPECT_EQ(whole[0], "short\nunfinished\n");
    EXPECT_EQ(whole[1], text);
    EXPECT_EQ(whole[2], "short\n");
    // Small files share a block.
    EXPECT_EQ(receipts.pieces().at(0).block, receipts.pieces().at(1).block);
    EXPECT_TRUE(receipts.rows().empty());
}

TEST(RowColumns, HoldsTemplatesAndColumnsOfWhatDiffers) {
    const std::string hash(64, 'a');
    const std::vector<std::string> lines{R"({"a":12,"h":")" + hash + R"(","k":[1,2]})",
                                         R"({"b":-1.5e-3})",
                                         R"({"a":7,"h":")" + hash + R"(","k":[3]})", R"({"a":8})"};
    const std::string parts("\2");
    EXPECT_EQ(row_columns(lines), "c{\"a\":\1,\"h\":\"\1\",\"k\":\1}\n{\"b\":-\1}\n{\"a\":\1}" +
                                      parts + "0,1,0,2" + parts + "12\n7\n8" + parts + hash +
                                      "\n~1" + parts + "[1,2]\n[3]" + parts + "1.5e-3");
    const std::vector<std::string> odd{"one \1", "two 2"};
    EXPECT_EQ(row_columns(odd), "pone \1\ntwo 2");
}

TEST_F(ReceiptTexts, RowsThatAreNotAsTheyWereWrittenAreLeftOut) {
    std::ifstream in(std::string(RACELINE_SOURCE_DIR) + "/receipts/h200/ceilings.jsonl");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    ReceiptText sound;
    sound.add(write(text));
    const std::string id = sound.rows().at(2).at("id");
    EXPECT_EQ(place_json(sound, id), Json::array({0, 3}));
    EXPECT_TRUE(place_json(sound, "").is_null());
    const std::size_t value = text.find("\"value\":", text.find(id)) + 8;
    text[value] = text[value] == '9' ? '8' : '9';
    ReceiptText changed;
    changed.add(write(text));
    EXPECT_LT(changed.rows().size(), sound.rows().size());
    EXPECT_TRUE(place_json(changed, id).is_null());
    EXPECT_EQ(changed.files()[0]["findings"][0][0], 3);
}

TEST_F(ReceiptTexts, AFileThatIsNotThereIsAnError) {
    ReceiptText receipts;
    EXPECT_THROW(receipts.add(folder_ / "none.jsonl"), Error);
}

// How many files of an index hold measurements.
std::size_t measured_files(const std::string& index) {
    std::size_t files = 0;
    std::istringstream lines(stored_text(index));
    for (std::string line; std::getline(lines, line);) {
        const Json file = Json::parse(line);
        const auto& kinds = file.at("kinds");
        files += std::ranges::any_of(file.at("measurements"), [&](const Json& row) {
            return kinds.at(row.at(0).get<std::size_t>()) == "measurement";
        });
    }
    return files;
}

TEST(PageColumns, ObjectsHaveTheirMembersAndNoOthers) {
    const Json objects = Json::parse(R"([{"a": 1}, {"b": null}, {"a": "x", "b": [2]}])");
    EXPECT_EQ(in_columns(objects), Json::parse(R"({"a": [1, "~", "x"], "b": ["~", null, [2]]})"));
    EXPECT_EQ(in_columns(Json::array()), Json::object());
}

// Of the committed receipts: a row here has its place, one that left the tree its file and commit.
TEST(ScoredRows, EachOpensOrSaysWhereItIs) {
    const std::string folder = std::string(RACELINE_SOURCE_DIR) + "/receipts";
    const std::string index = folder + "/index.jsonl.gz";
    const std::string file = folder + "/cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz";
    ReceiptText text;
    text.add(file);
    Scorecard card;
    card.add(file);
    card.add(index);
    NumberedTexts texts;
    texts.of("of a case");  // what the page's data have anyway
    const Json all = scored_json(card, text, texts);
    EXPECT_EQ(texts.texts().front(), "of a case");
    EXPECT_EQ(all.at("texts").size(), texts.texts().size() - 1);
    EXPECT_GT(all.at("texts").size(), 100U);
    const Json left_files = left_files_json(read_past(index));
    const std::vector<Score> scores = card.scores();
    std::vector<std::size_t> rows(scores.size());
    std::size_t here = 0;
    for (std::size_t i = 0; i < all.at("group").size(); ++i) {
        ++rows.at(all.at("group")[i].get<std::size_t>());
        const Json& place = all.at("place")[i];
        if (place.is_array()) {
            ++here;
            EXPECT_EQ(place[0], 0);
        } else {
            const auto left = all.at("left").at(place.get<std::size_t>()).get<std::string>();
            EXPECT_TRUE(left.starts_with("receipts/")) << left;
            EXPECT_EQ(left_files.at(left)[0].get<std::string>().size(), 40U) << left;
            EXPECT_EQ(left_files.at(left)[1].get<std::string>().size(), 64U) << left;
            // With it the row is found there: no two of a file were written at once.
            EXPECT_EQ(all.at("written")[i].get<std::string>().size(), 27U);
        }
        EXPECT_TRUE(all.at("predicted")[i].is_number());
    }
    EXPECT_GT(here, 5U);
    // All but a few, whose rows stand in no figure.
    const std::size_t left = measured_files(index);
    EXPECT_LE(all.at("left").size(), left);
    EXPECT_GE(all.at("left").size(), left * 9 / 10);
    EXPECT_GT(left, 0U);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(rows[i], scores[i].accuracy.count) << scores[i].group.kernel;
    }
}

TEST(Page, SaysThatItHasNoModelIfItWasBuiltWithout) {
    constexpr std::array sources{
        build_info::EmbeddedFile{"page/page.html", "/* page.css */<!-- data -->/* scripts */"},
        build_info::EmbeddedFile{"page/page.css", "body {}"},
        build_info::EmbeddedFile{"page/start.js", "function start() {}\n"}};
    PageRequest request;
    request.sources = sources;
    const std::string page = page_html(request).html;
    EXPECT_NE(page.find("id=\"data\""), std::string::npos);
    EXPECT_NE(page.find("function start"), std::string::npos);
    EXPECT_EQ(page.find("id=\"model\""), std::string::npos);
}

}  // namespace
}  // namespace raceline
