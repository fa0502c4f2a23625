"""Entries: machine code as functions that Python calls; Numba is not needed for that."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import Any

import numpy as np

from gltf_bullet.numba_aot.declarations import (
    ENTRIES,
    IS_COMPILED,
    KERNELS,
    Function,
    argument_kinds,
    entry_name,
)
from gltf_bullet.numba_aot.library import Code, host_machine, llvm, package_library
from gltf_bullet.numba_aot.object_cache import object_code
from gltf_bullet.numba_aot.wrappers import c_name, python_name

__all__ = ["Entry", "address_of", "code_of_object", "entry", "load"]

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
    """A function for Python whose machine code comes with :meth:`load`, or the first call."""

    def __init__(self, name: str, doc: str, kinds: Sequence[str], find: Callable[[], Code]) -> None:
        """Make the function.

        Args:
            name: Of the entry.
            doc: What it says about itself.
            kinds: Of its arguments.
            find: Yields its machine code.
        """
        self._find = find
        self.address = 0
        """Address of the C function, once it is loaded."""
        self._first = _Function(self._load_and_call)
        text = f"{name}({', '.join(kinds)})\n\n{doc}".encode()
        address = ctypes.cast(self._first, ctypes.c_void_p)
        # Python looks at it in every call, so the address can be another one later.
        self._definition = _MethodDef(name.encode(), address, _FASTCALL, text)
        self._owner: object = None
        self.function = _new_function(ctypes.addressof(self._definition), np.ndarray, None)
        """The function for Python."""
        _kept.append(self)

    def load(self) -> None:
        """Have the machine code in this process."""
        if not self.address:
            with _loading:
                if not self.address:  # else another thread was first
                    self._load()

    def _load(self) -> None:
        code = self._find()
        self._owner = code.owner
        self._definition.method = code.python_function
        # Last of all: another thread may take it for a sign that everything is there.
        self.address = code.c_function

    def _load_and_call(self, array_type: object, arguments: int, count: int) -> object:
        """Load the code at the first call; an exception here is printed, and a ``SystemError``."""
        self.load()
        return _Function(self._definition.method)(array_type, arguments, count)


def code_of_object(data: bytes, c_name: str, python_name: str) -> Code:
    """Load object code that ``translation.build`` made for this processor."""
    binding = llvm()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), host_machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return Code(
        int(engine.get_function_address(c_name)),
        int(engine.get_function_address(python_name)),
        engine,
    )


def entry(function: Function) -> Function:
    """A kernel that Python calls, and compiled code by :func:`address_of`: it yields an integer.

    Its machine code comes with :func:`load`.
    """
    KERNELS.add(function)
    ENTRIES.append(function)
    if not IS_COMPILED:
        return function
    made = Entry(
        function.__name__,
        function.__doc__ or "",
        argument_kinds(function),
        partial(_code_of, function),
    )
    _entries[id(made.function)] = made
    return made.function  # type: ignore[no-any-return]


def _code_of(function: Callable[..., Any]) -> Code:
    """Find an entry's machine code: in the package, else kept on this machine, else built now."""
    names = [named(entry_name(function)) for named in (c_name, python_name)]
    library = package_library()
    code = None if library is None else library.code_of(*names)
    return code or code_of_object(object_code(function), *names)


def load(*functions: Any) -> None:
    """Have the machine code of entries, all that were declared without any: they are slow to come.

    Raises:
        ImportError: It is neither in the package nor kept, and Numba is not installed.
    """
    wanted = [id(function) for function in functions] if functions else list(_entries)
    for number in wanted:
        if number in _entries:  # not while somebody debugs it
            _entries[number].load()


def address_of(function: Any) -> int:
    """Address of an entry as a C function, which takes address and lengths of each array."""
    load(function)
    return _entries[id(function)].address
