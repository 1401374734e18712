// SPDX-License-Identifier: Apache-2.0
// What `raceline predict` answers, as a block of a page: nothing in it depends on this machine.
#include "device/catalog.hpp"
#include "report/answer_text.hpp"
#include "report/docs_tables.hpp"
#include "report/problem_answer.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {

std::string docs_answer(const DocsBlock& block) {
    Device device = datasheet_device(block.at("device"));
    require(device.kind == DeviceKind::cuda, Status::invalid_argument,
            "device={} is no NVIDIA GPU: what a processor answers depends on the machine",
            block.at("device"));
    apply_committed_rates(device);
    Case problem;
    problem.workload = parse_shape(block.at("shape"));
    // What the command does without options.
    problem.options.how.launch_path = "graph";
    // As a terminal of this width has it, whoever writes the page.
    constexpr std::size_t columns = 100;  // of a pipe
    return "```text\n" +
           answer_text(answer_problem(problem, device, device, Calibration::used), device,
                       {columns, false}) +
           "```\n";
}

}  // namespace raceline
