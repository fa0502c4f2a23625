"""Reads of bodies after a step: by kernels in one pass, or by PyBullet's calls."""

from __future__ import annotations

import numpy as np
import pybullet
from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.bullet.exchange.native_calls import NativeWorld
from gltf_bullet.bullet.session import EngineLink, EngineSession
from gltf_bullet.bullet.state import link_state
from gltf_bullet.solver.contact_following import ROW_SIZE
from gltf_bullet.solver.formulas import READ
from gltf_bullet.transforms import FloatArray, IntArray

_FORCE = 20
"""Column of the normal force [N] among those of a contact, which begin with bodies and links."""


class BodyReads(Struct):
    """Reads of one body, each with the place of its first number."""

    states: dict[int, int] = msgspec_field(default_factory=dict)
    """By link, -1 for the base: position [3], rotation xyzw, velocity [3] and spin [3]."""
    joints: dict[int, tuple[int, int]] = msgspec_field(default_factory=dict)
    """By link: coordinate and velocity."""

    def numbers(self, client_id: int, body: int) -> list[int]:
        """The same for kernels, as ``READ`` of ``solver.formulas`` has it."""
        links = [(link, place) for link, place in self.states.items() if link >= 0]
        found = [0] * READ.size
        found[READ.body_id], found[READ.base] = body, self.states.get(-1, -1)
        found[READ.joints], found[READ.links] = len(self.joints), len(links)
        for link, places in self.joints.items():
            found += [*pybullet.getJointInfo(body, link, client_id)[3:5], *places]
        for link, place in links:
            found += [link, place]
        return found

    def read(self, client_id: int, body: int, numbers: FloatArray) -> None:
        """Read all of it by PyBullet's calls."""
        for link, place in self.states.items():
            position, rotation, velocity, spin = link_state(client_id, body, link)
            numbers[place : place + 13] = *position, *rotation, *velocity, *spin
        if self.joints:
            states = pybullet.getJointStates(body, list(self.joints), client_id)
            for (at, velocity_at), state in zip(self.joints.values(), states, strict=True):
                numbers[at], numbers[velocity_at] = state[:2]


def pressing_links(session: EngineSession) -> set[EngineLink]:
    """Return the links that press on something in the last engine step, of all bodies."""
    rows = session.shared(NativeWorld).contacts().reshape(-1, ROW_SIZE)
    rows = rows[rows[:, _FORCE] > 0.0]
    found: set[EngineLink] = set()
    for side in (0, 1):
        found.update(zip(*rows[:, [side, 2 + side]].astype(np.int64).T.tolist(), strict=True))
    return found


def engine_numbers(session: EngineSession) -> IntArray:
    """The numbers by which kernels call the world's engine; empty if they cannot."""
    return session.shared(NativeWorld).engine
