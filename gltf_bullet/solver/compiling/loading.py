"""Object code becomes functions of this process; Numba is not needed for that."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding as llvm  # type: ignore[import-untyped]

from gltf_bullet.solver.compiling.wrapping import c_name, python_name

__all__ = ["load", "processor", "target_machine"]

_FASTCALL = 0x80
"""``METH_FASTCALL`` of Python's headers."""


class _MethodDef(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_function: Callable[..., Any] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))
_kept: list[Any] = []
"""What lives as long as the process: code, and what Python knows of it."""


def load(code: bytes, name: str, doc: str, kinds: Sequence[str]) -> tuple[Callable[..., int], int]:
    """An entry, for Python, and its address as a C function.

    Args:
        code: As ``building.build`` has made it.
        name: Of the entry.
        doc: What it says about itself.
        kinds: Of its arguments.
    """
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    method = engine.get_function_address(python_name(name))
    address = engine.get_function_address(c_name(name))
    text = f"{name}({', '.join(kinds)})\n\n{doc}"
    definition = _MethodDef(name.encode(), method, _FASTCALL, text.encode())
    _kept.extend((engine, definition))
    return _new_function(ctypes.addressof(definition), np.ndarray, None), int(address)


def processor() -> str:
    """What machine code is made for, and by which LLVM."""
    return f"{llvm.get_host_cpu_name()} {_features()} {llvm.llvm_version_info}"


@cache
def target_machine() -> Any:
    """This processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=_features(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _features() -> str:
    try:
        return str(llvm.get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know on every system
        return ""
