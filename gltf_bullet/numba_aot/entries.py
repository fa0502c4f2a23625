"""Entries: machine code as functions that Python calls; Numba is not needed for that."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

import numpy as np

from gltf_bullet.numba_aot.declarations import (
    ENTRIES,
    KERNELS,
    Function,
    argument_kinds,
    entry_name,
)
from gltf_bullet.numba_aot.library import (
    Code,
    host_machine,
    is_compiled,
    llvm,
    package_library,
)
from gltf_bullet.numba_aot.wrappers import c_name, python_name

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
"""The signature of ``METH_FASTCALL``."""
_kept: list[Any] = []
"""Objects that live as long as the process."""
_entries: dict[int, Entry] = {}
"""Entries by the identity of their Python function: its hash is that of its code, not known yet."""
_loading = RLock()
"""Held while code is loaded: of two threads that load it, one would drop what the other runs."""


class Entry:
    """A function for Python whose machine code comes with :func:`load`, or the first call."""

    def __init__(self, declared: Callable[..., Any]) -> None:
        """Make the function of a kernel."""
        self.kernel = declared
        self.address = 0
        """Address of the C function, once it is loaded."""
        self._first = _Function(self._load_and_call)
        name, kinds = declared.__name__, ", ".join(argument_kinds(declared))
        text = f"{name}({kinds})\n\n{declared.__doc__ or ''}".encode()
        address = ctypes.cast(self._first, ctypes.c_void_p)
        # Python looks at it in every call, so the address can be another one later.
        self._definition = _MethodDef(name.encode(), address, _FASTCALL, text)
        self._owner: object = None
        self.function = _new_function(ctypes.addressof(self._definition), np.ndarray, None)
        """The function for Python."""
        _kept.append(self)

    def take(self, code: Code) -> None:
        """Run this from now on."""
        self._owner = code.owner
        self._definition.method = code.python_function
        # Last of all: another thread may take it for a sign that everything is there.
        self.address = code.c_function

    def _load_and_call(self, array_type: object, arguments: int, count: int) -> object:
        """Load the code at the first call; an exception here is printed, and a ``SystemError``."""
        _load([self])
        return _Function(self._definition.method)(array_type, arguments, count)


def entry(function: Function) -> Function:
    """A kernel that Python calls, and compiled code by :func:`address_of`: it yields an integer.

    Its machine code comes with :func:`load`; where there is none it stays what it is.
    """
    KERNELS.add(function)
    ENTRIES.append(function)
    if not is_compiled():
        return function
    made = Entry(function)
    _entries[id(made.function)] = made
    return made.function  # type: ignore[no-any-return]


def load(*functions: Any) -> None:
    """Have the machine code of entries, all that were declared without any: they are slow to come.

    Code that no library has is made for this process alone.

    Raises:
        ImportError: No library has it, and Numba is not installed.
    """
    wanted = [id(function) for function in functions] if functions else list(_entries)
    _load([_entries[number] for number in wanted if number in _entries])


def _load(entries: Sequence[Entry]) -> None:
    if all(entry.address for entry in entries):
        return
    with _loading:
        library, missing = package_library(), []
        for made in entries:
            if made.address:  # another thread was first
                continue
            code = None if library is None else library.code_of(*_names(made))
            if code is None:
                missing.append(made)
            else:
                made.take(code)
        if missing:
            _make(missing)


def _make(entries: Sequence[Entry]) -> None:
    """Compile entries for this processor and process."""
    from gltf_bullet.numba_aot.translation import build

    binding = llvm()
    [data] = build([made.kernel for made in entries], host_machine())
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), host_machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(data))
    engine.finalize_object()
    for made in entries:
        c_function, python_function = map(engine.get_function_address, _names(made))
        made.take(Code(int(c_function), int(python_function), engine))


def _names(made: Entry) -> tuple[str, str]:
    name = entry_name(made.kernel)
    return c_name(name), python_name(name)


def address_of(function: Any) -> int:
    """Address of an entry as a C function, which takes address and lengths of each array."""
    load(function)
    return _entries[id(function)].address
