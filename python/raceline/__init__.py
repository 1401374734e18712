# SPDX-License-Identifier: Apache-2.0
"""Attention kernels that know their own speed limit.

    >>> import numpy, raceline
    >>> q = numpy.random.randn(1, 1024, 8, 64).astype("float32")  # (batch, seqlen, heads, headdim)
    >>> out = raceline.attention(q, q, q, causal=True)
    >>> print(raceline.predict(q, q, q, causal=True))

Tensors of NumPy, PyTorch, CuPy and JAX are read without a copy, and results come back in the
library of `q`. `raceline.torch` has the operators for torch.compile, `raceline.transformers` the
attention implementation for Hugging Face models.
"""

from ._attention import attention, combine, decode
from ._bound import Bound, bound
from ._core import version as _version
from ._devices import Ceiling, Ceilings, Device, devices, measure
from ._page import report_html
from ._point import Point, point
from ._predict import Prediction, predict

__version__ = _version()

__all__ = [
    "Bound",
    "Ceiling",
    "Ceilings",
    "Device",
    "Point",
    "Prediction",
    "attention",
    "bound",
    "combine",
    "decode",
    "devices",
    "measure",
    "point",
    "predict",
    "report_html",
]
