"""The clock of a world: PyBullet adds up the time that it has stepped, and shows it to C alone."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import pybullet

from gltf_bullet.bullet.exchange.library import client_place, function_addresses

__all__ = ["WorldClock", "world_clock"]

_ROOM = 128
"""Doubles, more than a ``b3PhysicsSimulationParameters`` has: time step, time, ..."""


class WorldClock(NamedTuple):
    """The time and the time step of a world, as the engine has them."""

    time_step: float
    """[s] that the next step of the engine takes."""
    time: float
    """[s] that were simulated since the world was opened or reset, whoever has stepped it."""


def world_clock(client_id: int) -> WorldClock | None:
    """Read the clock of a world, which no ``restoreState`` takes back (measured: 4 us).

    ``None`` where PyBullet's library is another one than ``library`` knows, and where nothing is
    connected.
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
