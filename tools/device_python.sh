#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package on a machine that is cut off: installs a folder of wheels (raceline's with CUDA
# kernels, pytest and what else is missing there) beside what is installed, then runs every test of
# python/tests, those of CUDA graphs, opcheck and transformers among them.
#
#   OUT=folder tools/device_python.sh [wheels [pytest argument ...]]
set -uo pipefail
wheels=${1:-.whl}
[ $# -gt 0 ] && shift
out=${OUT:-device-python}
mkdir -p "$out"
site=$(mktemp -d)
cd "$(dirname "$0")/.."
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
    --target "$site" "$wheels"/*.whl || exit 2
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
python3 - <<'END' 2>&1 | tee "$out/python-environment.txt"
import importlib
for name in ("raceline", "torch", "transformers", "cupy", "jax", "numpy"):
    try:
        print(name, importlib.import_module(name).__version__)
    except ImportError as missing:
        print(name, "is not here:", missing)
import raceline
print(*(f"{d.id}: {d.name}" for d in raceline.devices() if d.live), sep="\n")
END
python3 -m pytest -p no:cacheprovider -q -rsP --durations=10 python/tests "$@" 2>&1 |
    tee "$out/python-tests.txt" | tail -n 60
exit "${PIPESTATUS[0]}"
