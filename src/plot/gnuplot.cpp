// SPDX-License-Identifier: Apache-2.0
#include "plot/gnuplot.hpp"

#include "support/check.hpp"
#include "support/subprocess.hpp"

namespace raceline {

bool gnuplot_is_there() {
    return output_of({"gnuplot", "--version"}).has_value();
}

std::string drawn_by_gnuplot(const std::string& script) {
    // Without the user's own settings, which would change the picture.
    if (std::optional<std::string> picture =
            output_of({"gnuplot", "--default-settings", "-"}, script)) {
        return *std::move(picture);
    }
    require(gnuplot_is_there(), Status::unsupported,
            "pictures are drawn by gnuplot, which is not in PATH: on Debian and Ubuntu "
            "`tools/bootstrap.sh docs` or `apt-get install gnuplot-nox` installs it");
    fail(Status::internal,
         "gnuplot refused the script: --keep-script keeps it, and gnuplot then says why");
}

}  // namespace raceline
