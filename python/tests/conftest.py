# SPDX-License-Identifier: Apache-2.0
import os
import tempfile

import numpy as np
import pytest

# JAX would take three quarters of a GPU's memory for itself.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Predictions for this machine must not rest on what was measured on it before.
_no_ceilings = tempfile.TemporaryDirectory(prefix="raceline-tests-")
os.environ["XDG_CACHE_HOME"] = _no_ceilings.name


@pytest.fixture
def rng():
    return np.random.default_rng(4711)


@pytest.fixture
def normal(rng):
    """normal(shape, dtype): fresh standard normals."""

    def make(*shape, dtype="float32"):
        return rng.standard_normal(shape).astype(dtype)

    return make
