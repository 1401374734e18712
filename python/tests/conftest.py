# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(4711)


@pytest.fixture
def normal(rng):
    """normal(shape, dtype): fresh standard normals."""

    def make(*shape, dtype="float32"):
        return rng.standard_normal(shape).astype(dtype)

    return make
