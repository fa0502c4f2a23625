"""Object code becomes functions of this process; Numba is not needed for that."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from gltf_bullet.solver.compiling.wrapping import c_name, python_name

__all__ = ["Entry", "processor", "target_machine"]

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
_Function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)
"""What ``METH_FASTCALL`` stands for."""
_kept: list[Any] = []
"""What lives as long as the process."""
_loading = RLock()
"""Of code that two threads load, one forgets what the other runs."""


@cache
def _llvm() -> Any:
    """Imported for those who need machine code: 0.05 s."""
    from llvmlite import binding  # type: ignore[import-untyped]

    return binding


class Entry:
    """A function for Python whose machine code comes with :meth:`load`, or the first call."""

    def __init__(
        self, name: str, doc: str, kinds: Sequence[str], code: Callable[[], bytes]
    ) -> None:
        """Make the function.

        Args:
            name: Of the entry.
            doc: What it says about itself.
            kinds: Of its arguments.
            code: Yields what ``building.build`` has made of it.
        """
        self._name, self._code = name, code
        self.address = 0
        """As a C function, once it is loaded."""
        self._first = _Function(self._load_and_call)
        text = f"{name}({', '.join(kinds)})\n\n{doc}".encode()
        address = ctypes.cast(self._first, ctypes.c_void_p)
        # Python looks at it in every call, so the address can be another one later.
        self._definition = _MethodDef(name.encode(), address, _FASTCALL, text)
        self._engine: Any = None
        self.function = _new_function(ctypes.addressof(self._definition), np.ndarray, None)
        """What Python calls."""
        _kept.append(self)

    def load(self) -> None:
        """Have the machine code in this process."""
        if not self.address:
            with _loading:
                if not self.address:  # else another thread was first
                    self._load()

    def _load(self) -> None:
        llvm = _llvm()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(self._code()))
        engine.finalize_object()
        self._engine = engine
        self._definition.method = engine.get_function_address(python_name(self._name))
        # Last of all: another thread may take it for a sign that everything is there.
        self.address = int(engine.get_function_address(c_name(self._name)))

    def _load_and_call(self, array_type: object, arguments: int, count: int) -> object:
        """Nobody has loaded it; what goes wrong here is printed, and a ``SystemError``."""
        self.load()
        return _Function(self._definition.method)(array_type, arguments, count)


def processor() -> str:
    """What machine code is made for, and by which LLVM."""
    llvm = _llvm()
    return f"{llvm.get_host_cpu_name()} {_features()} {llvm.llvm_version_info}"


@cache
def target_machine() -> Any:
    """This processor."""
    llvm = _llvm()
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
        return str(_llvm().get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know on every system
        return ""
