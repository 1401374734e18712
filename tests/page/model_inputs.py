# SPDX-License-Identifier: Apache-2.0
"""The build of the page's model depends on every file of the tree that it compiles: model_inputs.py BUILD SOURCE"""
import pathlib
import re
import sys

build, source = (pathlib.Path(path).resolve() for path in sys.argv[1:])
model = build / "page_model"
compiled = re.findall(r"^build \S+\.o: CXX_COMPILER__raceline_model\S* (\S+\.c(?:pp|xx))", (model / "build.ninja").read_text(), re.M)
# Files that are compiled together stand in one that CMake writes.
batches = [path for path in compiled if path.endswith(".cxx")]
assert batches, compiled
compiled += [path for batch in batches for path in re.findall(r'^#include "(.+\.cpp)"', (model / batch).read_text(), re.M)]
compiled = {path for path in compiled if path.startswith(f"{source}/") and not path.startswith(f"{build}/")}
assert len(compiled) > 50, compiled
rule = next(line for line in (build / "build.ninja").read_text().replace("$\n", "").splitlines()
            if re.match(r"build page_model/raceline_model\.js\b", line))
missed = sorted(compiled - set(rule.split()))
assert not missed, f"a change of these would not build the model anew: {missed}"
