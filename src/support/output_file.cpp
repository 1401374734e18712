// SPDX-License-Identifier: Apache-2.0
#include "support/output_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "support/check.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

// How a file of a form begins, spaces aside. Receipts, and JSON of any kind, begin with a brace.
struct Form {
    std::string_view ending, begins, name;
};
constexpr std::array forms{
    Form{".html", "<", "page"},      Form{".htm", "<", "page"},
    Form{".svg", "<", "picture"},    Form{".png", "\x89PNG", "picture"},
    Form{".pdf", "%PDF", "picture"}, Form{".gp", "# Draws", "script of gnuplot"}};

std::string beginning_of(const std::string& file) {
    constexpr std::size_t most = 256;
    std::string head(most, '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(head.data(), static_cast<std::streamsize>(most));
    head.resize(static_cast<std::size_t>(in.gcount()));
    constexpr std::string_view before_content = " \t\r\n\xEF\xBB\xBF";  // with a byte order mark
    head.erase(0, std::min(head.find_first_not_of(before_content), head.size()));
    return head;
}

}  // namespace

void require_folder(const std::string& option, const std::string& file) {
    std::error_code none;
    const fs::path folder = fs::path(file).parent_path();
    require(folder.empty() || fs::exists(folder, none), Status::invalid_argument,
            "{} {}: there is no folder {}; make it, or name a file in one that exists", option,
            file, folder.string());
}

void require_output(const std::string& option, const std::string& file,
                    const std::vector<std::string>& inputs) {
    std::error_code none;
    require_folder(option, file);
    const std::string ending = fs::path(file).extension().string();
    const auto form = std::ranges::find(forms, std::string_view(ending), &Form::ending);
    const std::string example = form == forms.end() ? ".html" : ending;
    for (const std::string& input : inputs) {
        require(!fs::equivalent(input, file, none), Status::invalid_argument,
                "{} {} would write over {}, which is to be read; name another file, such "
                "as new{}",
                option, file, input, example);
    }
    require(!fs::is_directory(file, none), Status::invalid_argument,
            "{} {} is a folder; name a file in it, such as {}", option, file,
            (fs::path(file) / ("new" + example)).string());
    if (!fs::is_regular_file(file, none) || fs::file_size(file, none) == 0) {
        return;
    }
    require(form != forms.end(), Status::invalid_argument,
            "{} would replace {}, which is no page; name a file that ends in .html", option, file);
    require(beginning_of(file).starts_with(form->begins), Status::invalid_argument,
            "{} would replace {}, which is no {}: its content is something else; name a new file, "
            "or remove that one",
            option, file, form->name);
}

}  // namespace raceline
