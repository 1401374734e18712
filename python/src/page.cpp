// SPDX-License-Identifier: Apache-2.0
#include "page/page.hpp"

#include <algorithm>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "page.hpp"
#include "receipt/named_file.hpp"
#include "support/check.hpp"
#include "support/output_file.hpp"
#include "support/whole_file.hpp"

namespace raceline::python {
namespace {

void report_html(const std::vector<std::string>& receipts, const std::string& out) {
    const nanobind::gil_scoped_release released;
    require(!receipts.empty(), Status::invalid_argument,
            "receipts is empty; name at least one .jsonl file that raceline wrote");
    require_output("out", out, receipts);
    std::ranges::for_each(receipts, require_receipts);
    write_whole_file(out, page_html(page_request(receipts)).html);
}

}  // namespace

void bind_page(nanobind::module_& module) {
    module.def("report_html", &report_html, nanobind::arg("receipts"), nanobind::arg("out"));
}

}  // namespace raceline::python
