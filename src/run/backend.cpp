// SPDX-License-Identifier: Apache-2.0
#include "run/backend.hpp"

#include <exception>
#include <new>
#include <span>

#include "support/out_of_memory.hpp"
#include "workload/operation.hpp"

namespace raceline {

Correctness check_draws(const CaseOptions& options, const Workload& workload,
                        const std::function<Correctness(Draw)>& one) {
    const std::span<const Draw> draws =
        options.draws.empty() ? draws_of(workload) : std::span<const Draw>(options.draws);
    Correctness verdict;
    bool first = true;
    for (const Draw draw : draws) {
        Correctness found;
        try {
            found = one(draw);
        } catch (const OutOfMemory&) {
            throw;  // says nothing of the kernel
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            found.why = error.what();
        }
        found.draws = {std::string(name_of(draw))};
        found.seed = options.seed;
        if (!found.passed) {
            found.why = std::string(name_of(draw)) + " inputs: " + found.why;
        }
        verdict = first ? found : worse_of(verdict, found);
        first = false;
        if (!verdict.passed) {
            break;
        }
    }
    return verdict;
}

}  // namespace raceline
