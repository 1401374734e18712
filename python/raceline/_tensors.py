# SPDX-License-Identifier: Apache-2.0
"""The tensor libraries: how each exposes its memory, makes outputs and names its stream.

A library is imported only when one of its tensors arrives.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from . import _core
from ._table import kind_of

_CPU = 1  # DLPack's number


class Library:
    """What attention needs from a tensor library. The base serves NumPy and CuPy, which share names."""

    def __init__(self, module: str):
        self.module = importlib.import_module(module)
        self._extended_names: dict[Any, str | None] = {}

    def view(self, name: str, x: Any) -> Any:
        """An object that `_core` reads without a copy. Only where a kernel cannot address `x` (its
        last dimension is not contiguous, or it runs backwards) is it copied first."""
        strides = x.strides
        if strides and (
            (strides[-1] != x.itemsize and x.shape[-1] > 1) or min(strides) < 0
        ):
            x = self.module.ascontiguousarray(x)
        try:
            dtype = self._extended_names[x.dtype]
        except KeyError:  # a dtype's name takes ten times as long as all the rest
            dtype = self._extended_names[x.dtype] = _EXTENDED.get(x.dtype.name)
        return x if dtype is None else self._described(x, dtype)

    def _described(self, x: Any, dtype: str) -> Any:
        """Types of ml_dtypes, which DLPack does not export for NumPy."""
        strides = tuple(stride // x.itemsize for stride in x.strides)
        return (self._address(x), dtype, x.shape, strides, self._on_gpu, self._device(x), x)

    _on_gpu = False

    def _address(self, x: Any) -> int:
        address: int = x.__array_interface__["data"][0]
        return address

    def _device(self, x: Any) -> int:
        return 0

    def stream(self, x: Any) -> int | None:
        """The current stream of the tensor's device, by DLPack's numbers; None on a CPU."""
        return None

    def empty(self, shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
        """An output: of the dtype of `like` (bfloat16 where that is float8_e4m3fn), or the given
        one."""
        return self.module.empty(shape, _output_dtype(like.dtype) if dtype is None else dtype)

    def empty_float(self, shape: tuple[int, ...], like: Any) -> Any:
        return self.module.empty(shape, self.module.float32)

    def launch(self, call: Any, like: Any, out: Any, lse: Any, stream: int | None) -> None:
        call.run(self.view("out", out), lse if lse is None else self.view("lse", lse), 0, 0, 0)

    def finished(self, x: Any) -> Any:
        """An output as the user gets it."""
        return x

    def prefix_sums(self, name: str, sums: Any, like: Any, bounded: bool) -> tuple[Any, Any]:
        """Prefix sums as a host array, and on the GPU of `like` (None on a CPU). `bounded`: the
        host needs none for a call on a GPU (None)."""
        return view(name, sums), None


_EXTENDED = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3"}


def _output_dtype(dtype: Any) -> Any:
    if dtype.itemsize != 1 or dtype.name != "float8_e4m3fn":  # a name takes long
        return dtype
    return importlib.import_module("ml_dtypes").bfloat16


class _CuPy(Library):
    _on_gpu = True

    def _address(self, x: Any) -> int:
        address: int = x.data.ptr
        return address

    def _device(self, x: Any) -> int:
        number: int = x.device.id
        return number

    def stream(self, x: Any) -> int:
        with x.device:
            # DLPack and the runtime call the legacy default stream 1; 0 would be ambiguous.
            return self.module.cuda.get_current_stream().ptr or 1

    def launch(self, call: Any, like: Any, out: Any, lse: Any, stream: int | None) -> None:
        with like.device:
            size = call.workspace_bytes
            scratch = self.module.empty((max(size, 1),), self.module.uint8)
            sums = None if lse is None else self.view("lse", lse)
            call.run(self.view("out", out), sums, scratch.data.ptr, size, stream)

    def empty(self, shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
        with like.device:
            return super().empty(shape, like, dtype)

    def empty_float(self, shape: tuple[int, ...], like: Any) -> Any:
        with like.device:
            return super().empty_float(shape, like)

    def prefix_sums(self, name: str, sums: Any, like: Any, bounded: bool) -> tuple[Any, Any]:
        with like.device:
            device = self.module.ascontiguousarray(self.module.asarray(sums))
        return None if bounded else self.module.asnumpy(device), device


class _Jax(Library):
    """JAX arrays do not change, so outputs are written as fresh buffers before JAX sees them. On a
    CPU these are NumPy's, handed over without a copy. On a GPU they are JAX's own, before anything
    else refers to them. JAX has no current stream: a GPU call runs on the default stream and is waited for."""

    def __init__(self, module: str):
        super().__init__("jax")
        self.numpy = importlib.import_module("numpy")

    def _gpu(self, x: Any) -> bool:
        kind: int = x.__dlpack_device__()[0]
        return kind != _CPU

    def view(self, name: str, x: Any) -> Any:
        if isinstance(x, self.module.core.Tracer):
            raise TypeError(
                f"{name} is traced by a transformation of JAX; call raceline outside of jax.jit"
            )
        return x

    def stream(self, x: Any) -> int | None:
        return 1 if self._gpu(x) else None

    def _fresh(self, shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
        if not self._gpu(like):
            return _aligned(self.numpy, shape, dtype)
        made = self.module.device_put(self.module.numpy.zeros(shape, dtype), like.device)
        return made.block_until_ready()

    def empty(self, shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
        return self._fresh(shape, _output_dtype(like.dtype) if dtype is None else dtype, like)

    def empty_float(self, shape: tuple[int, ...], like: Any) -> Any:
        return self._fresh(shape, self.numpy.float32, like)

    def launch(self, call: Any, like: Any, out: Any, lse: Any, stream: int | None) -> None:
        if stream is None:
            call.run(view("out", out), None if lse is None else view("lse", lse), 0, 0, 0)
            return
        size = call.workspace_bytes
        scratch = self._fresh((max(size, 1),), self.numpy.uint8, like)
        call.run(out, lse, scratch.unsafe_buffer_pointer(), size, stream)
        _core.synchronize()

    def finished(self, x: Any) -> Any:
        if not isinstance(x, self.numpy.ndarray):
            return x
        if x.dtype.name in _EXTENDED:  # NumPy exports no such type: a view of its bits does
            bits = self.module.dlpack.from_dlpack(x.view(f"uint{8 * x.itemsize}"))
            return self.module.lax.bitcast_convert_type(bits, x.dtype)
        return self.module.dlpack.from_dlpack(x)

    def prefix_sums(self, name: str, sums: Any, like: Any, bounded: bool) -> tuple[Any, Any]:
        # A call on a GPU is waited for in any case.
        host = self.numpy.ascontiguousarray(self.numpy.asarray(sums))
        return host, self.module.device_put(host, like.device) if self._gpu(like) else None


def _aligned(numpy: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """JAX takes over host memory without a copy if it starts at a multiple of 64 bytes."""
    dtype = numpy.dtype(dtype)
    count = 1
    for size in shape:
        count *= size
    raw = numpy.empty(count * dtype.itemsize + 64, numpy.uint8)
    first = -raw.__array_interface__["data"][0] % 64
    return raw[first : first + count * dtype.itemsize].view(dtype).reshape(shape)


class _Torch(Library):
    """Read by DLPack's exchange in C where PyTorch has it (from 2.10 on), else by address and
    strides: `__dlpack__` costs ten times as much. The rest of what PyTorch needs is in
    raceline.torch."""

    def __init__(self, module: str):
        super().__init__("torch")
        torch = self.module
        self.names = {
            torch.float32: "fp32",
            torch.float16: "fp16",
            torch.bfloat16: "bf16",
            torch.float8_e4m3fn: "e4m3",
            torch.int32: "int32",
            torch.int64: "int64",
            torch.float64: "float64",
            torch.bool: "bool",
        }
        # Subclasses may be anything: they are read by their attributes.
        self.exchanged = frozenset(
            plain for plain in (torch.Tensor, torch.nn.Parameter) if _core.exchange_with(plain)
        )
        # What torch.cuda's functions of such names ask, where a PyTorch for CUDA still calls it so.
        core = torch._C
        self.current_device = getattr(core, "_cuda_getDevice", torch.cuda.current_device)
        self.allocate = getattr(core, "_cuda_cudaCachingAllocator_raw_alloc", None)
        self.free: Any = getattr(core, "_cuda_cudaCachingAllocator_raw_delete", None)
        if self.free is None:
            self.allocate = None
        self.empty_like = torch.empty_like
        self.is_grad_enabled = torch.is_grad_enabled
        _core.call_directly_with(self)

    def view(self, name: str, x: Any) -> Any:
        if _core.all_addressable(x):
            return x
        where = x.device.type
        if where not in ("cpu", "cuda") or x.layout is not self.module.strided:
            raise ValueError(
                f"{name} is a {x.layout} tensor on {x.device}; dense tensors of a CPU or a CUDA "
                "device would be accepted"
            )
        if x.is_neg():
            x = x.resolve_neg()
        if x.dim() > 0 and x.stride(-1) != 1 and x.shape[-1] > 1:
            x = x.contiguous()
        dtype = self.names.get(x.dtype) or str(x.dtype)
        return (x.data_ptr(), dtype, x.shape, x.stride(), where == "cuda", x.get_device(), x)

    def stream(self, x: Any) -> int | None:
        if type(x) in self.exchanged:
            return _core.current_stream(x)
        if not x.is_cuda:
            return None
        stream: int = self.module.cuda.current_stream(x.device).cuda_stream
        return stream

    def empty(self, shape: tuple[int, ...], like: Any, dtype: Any = None) -> Any:
        if dtype is None and like.dtype is not self.module.float8_e4m3fn:
            if shape == like.shape and like.is_contiguous():
                return self.empty_like(like)  # half as long
            return like.new_empty(shape)
        return like.new_empty(shape, dtype=self.module.bfloat16 if dtype is None else dtype)

    def empty_float(self, shape: tuple[int, ...], like: Any) -> Any:
        return like.new_empty(shape, dtype=self.module.float32)

    def launch(self, call: Any, like: Any, out: Any, lse: Any, stream: int | None) -> None:
        if type(out) not in self.exchanged:
            out, lse = self.view("out", out), None if lse is None else self.view("lse", lse)
        if stream is None:
            call.run(out, lse, 0, 0, 0)
        elif like.get_device() == self.current_device():
            self._enqueue(call, like, out, lse, stream)
        else:  # kernels launch on the current device
            with self.module.cuda.device(like.device):
                self._enqueue(call, like, out, lse, stream)

    def _enqueue(self, call: Any, like: Any, out: Any, lse: Any, stream: int) -> None:
        size = call.workspace_bytes
        if self.allocate is None:
            scratch = like.new_empty((size,), dtype=self.module.uint8)
            call.run(out, lse, scratch.data_ptr(), size, stream)
            return
        address = self.allocate(size, stream)  # the tensor around it would cost a microsecond
        try:
            call.run(out, lse, address, size, stream)
        finally:
            self.free(address)

    def prefix_sums(self, name: str, sums: Any, like: Any, bounded: bool) -> tuple[Any, Any]:
        if not isinstance(sums, self.module.Tensor) or not like.is_cuda:
            return view(name, sums), None
        host = None if bounded else view(name, sums.cpu())
        return host, view(name, sums.to(like.device))


_LIBRARIES = {"numpy": Library, "torch": _Torch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax}


_by_type: dict[type, Library] = {}


@functools.lru_cache(maxsize=None)
def _library(root: str) -> Library:
    return _LIBRARIES[root](root)


def _root_of(kind: type) -> str | None:
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root in _LIBRARIES:
            return "jax" if root == "jaxlib" else root
    return None


def library_of(name: str, x: Any) -> Library:
    """The library of a tensor. TypeError, naming the argument, for anything else."""
    library = _by_type.get(type(x))
    if library is None:
        root = _root_of(type(x))
        if root is None or not hasattr(x, "__dlpack__"):
            raise TypeError(
                f"{name} is {kind_of(x)}; a tensor of NumPy, PyTorch, CuPy or JAX would be "
                "accepted"
            )
        library = _by_type[type(x)] = _library(root)
    return library


def is_torch(x: Any) -> bool:
    """Makes no library: that cannot be done while PyTorch compiles."""
    library = _by_type.get(type(x))
    return _root_of(type(x)) == "torch" if library is None else isinstance(library, _Torch)


def view(name: str, x: Any) -> Any:
    """What `_core` reads of a tensor of any library; None stays None."""
    return None if x is None else library_of(name, x).view(name, x)
