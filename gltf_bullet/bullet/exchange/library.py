"""Addresses of the C functions of PyBullet's library, and of its table of clients.

``pybullet`` is one shared library: a layer for Python over a C interface that it exports. The
handles of the clients are in a table that is not exported, but named in the library's symbols,
unless those were stripped. Only ELF files of 64 bits are read, and only the interface version that
``solver.engine.calls`` was written for is accepted; elsewhere Python calls the engine, with the
same results.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pybullet

from gltf_bullet.solver.engine.calls import FUNCTIONS

SWITCH = "GLTF_BULLET_NATIVE_CALLS"
"""Environment variable: 0 makes Python do all calls of worlds that are used from now on."""
_API_VERSION = 202010061
"""``SHARED_MEMORY_MAGIC_NUMBER``: it changes with the structures that are passed."""
_TABLE = b"sPhysicsClients1"
_CLIENTS = 1024
"""Number of entries in the table (``MAX_PHYSICS_CLIENTS``)."""
_KNOWN = next(iter(FUNCTIONS.values())).encode()
"""An exported function whose address shows where the library was loaded."""

_SYMBOL_TABLE = 2
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_ELF_64_LITTLE = b"\x7fELF\x02\x01"


@cache
def function_addresses() -> tuple[int, ...]:
    """Return the addresses of :data:`FUNCTIONS`; empty if the library is not the known one."""
    if pybullet.getAPIVersion() != _API_VERSION or struct.calcsize("P") != 8:
        return ()
    try:
        library = ctypes.CDLL(pybullet.__file__)
        return tuple(
            ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
            for name in FUNCTIONS.values()
        )
    except (AttributeError, OSError):
        return ()


def client_place(client_id: int) -> int:
    """Return the address of a client's handle in the table, 0 if it cannot be found."""
    if os.environ.get(SWITCH) == "0":
        return 0
    table = _client_table()
    return table + 8 * client_id if table and 0 <= client_id < _CLIENTS else 0


@cache
def _client_table() -> int:
    functions = function_addresses()
    if not functions:
        return 0
    try:
        values = _symbols(Path(pybullet.__file__), (_KNOWN, _TABLE))
    except (OSError, ValueError, struct.error):
        return 0
    known, table = values[_KNOWN], values[_TABLE]
    if known is None or table is None or table[1] != 8 * _CLIENTS:
        return 0
    return functions[0] - known[0] + table[0]


def _symbols(path: Path, names: tuple[bytes, ...]) -> dict[bytes, tuple[int, int] | None]:
    """Return value and size of symbols of an ELF file; ``None`` for one that is not unique."""
    found: dict[bytes, tuple[int, int] | None] = dict.fromkeys(names)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != _ELF_64_LITTLE:
            return found
        [start] = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * k) for k in range(count)]
        for _, kind, _, _, at, length, link, _, _, _ in sections:
            if kind != _SYMBOL_TABLE:
                continue
            table = np.frombuffer(data[at : at + length], _SYMBOL)
            texts = data[sections[link][4] : sections[link][4] + sections[link][5]]
            for name in names:
                place = texts.find(b"\0" + name + b"\0") + 1
                rows = table[(table["name"] == place) & (table["value"] > 0) & (place > 0)]
                if len(rows) == 1:
                    found[name] = int(rows["value"][0]), int(rows["size"][0])
    return found


# --- The clock of a world: PyBullet sums up the time of its steps, but shows it to C alone --------

_ROOM = 128
"""Number of doubles, more than ``b3PhysicsSimulationParameters`` has: time step, time, ..."""


class WorldClock(NamedTuple):
    """The time and the time step of a world in the engine."""

    time_step: float
    """Length of the engine's next step [s]."""
    time: float
    """Time simulated since the world was opened or reset, by any code [s]."""


def world_clock(client_id: int) -> WorldClock | None:
    """Read the clock of a world, which no ``restoreState`` sets back (measured: 4 us).

    It is ``None`` if PyBullet's library is not the known one, and if nothing is connected.
    """
    place = client_place(client_id)
    if not place or not function_addresses() or not pybullet.isConnected(client_id):
        return None
    library = _library()
    client = ctypes.c_void_p.from_address(place).value
    command = library.b3InitRequestPhysicsParamCommand(client)
    status = library.b3SubmitClientCommandAndWaitStatus(client, command)
    parameters = (ctypes.c_double * _ROOM)()
    if not library.b3GetStatusPhysicsSimulationParameters(status, parameters):
        return None
    return WorldClock(parameters[0], parameters[1])


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(pybullet.__file__)
    pointer = ctypes.c_void_p
    begin = library.b3InitRequestPhysicsParamCommand
    begin.restype, begin.argtypes = pointer, [pointer]
    submit = library.b3SubmitClientCommandAndWaitStatus
    submit.restype, submit.argtypes = pointer, [pointer, pointer]
    library.b3GetStatusPhysicsSimulationParameters.argtypes = [pointer, pointer]
    return library
