"""The islands of one scene's step: their arrays, the contacts in them, their solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from gltf_bullet.bullet.exchange.contact_memory import ContactArrays
from gltf_bullet.bullet.exchange.native_calls import NO_NATIVE
from gltf_bullet.bullet.joints.scene_arrays import SceneArrays
from gltf_bullet.bullet.joints.solving.contact_reader import Touching
from gltf_bullet.numba_aot import IntTable, addresses
from gltf_bullet.solver import outcomes
from gltf_bullet.solver.articulation_arrays import PARTICIPATION
from gltf_bullet.solver.entries import prepare, solve
from gltf_bullet.solver.islands import FREE, Islands, allocate, islands_at
from gltf_bullet.solver.scene_table import (
    PREPARE_ROWS,
    SCENE,
    SOLVE_ALL,
    SOLVE_FINISH,
    SOLVE_GATHER,
    SOLVE_ISLANDS,
    SOLVE_OPEN,
    SOLVE_REDUCE_TARGETS,
    row_of,
)
from gltf_bullet.transforms import FloatArray, IntArray

_SPARE = 1.5
"""Factor of spare room in new arrays: the number of contacts changes."""


class SceneIslands:
    """The islands of one scene: bodies coupled by contacts and constraints."""

    def __init__(self, arena: SceneArrays, contacts: ContactArrays) -> None:
        """Allocate arrays for the articulations of one scene, without contacts.

        Args:
            arena: The arrays of the scene.
            contacts: Those in which its contacts are followed.
        """
        self.arena = arena
        self._contacts = contacts
        self._guests: WeakKeyDictionary[SceneArrays, IntTable] = WeakKeyDictionary()
        """Rows of other scenes' arenas with these islands."""
        self.native = NO_NATIVE
        """Arrays by which kernels call the engine; ``NO_NATIVE`` if only Python can."""
        self._watcher: IntArray = np.zeros(0, dtype=np.int64)
        self._free: FloatArray = np.zeros(0)
        """Table of the scene's free bodies."""
        self._slip: FloatArray = np.zeros(0)
        """Table of its bodies whose friction follows their slip."""
        self._kinematic: tuple[FloatArray, FloatArray] = (np.zeros(0), np.zeros(0))
        """Tables of its anchors, and of bodies that kinematic ones may press."""
        self._rows = sum(
            int(arena.record(record).total_rows) for record in arena.records
        ) + 6 * int(arena.header.cut_count)
        self._dofs = sum(record.dof_count for record in arena.records)
        self._room = (len(arena.records), self._rows, 0, 0, self._dofs)
        self.index, self._values = allocate(*self._room, 1024)
        self._limit_contacts()
        self.row = self._row_of(arena)
        """The scene's row of the kernels' table."""
        self.cells = cells_of(self.row)
        """The numbers of :attr:`row`, read and written at a quarter of NumPy's cost."""
        self.place: Sequence[int] = addresses(self.row[0])
        """Address and length of :attr:`row`."""

    @property
    def record(self) -> Islands:
        """The record of the islands, as the last solve has left them."""
        return islands_at(self.index, self._values, 0)

    def _row_of(self, arena: SceneArrays) -> IntTable:
        """Return the row of a scene's arrays with these islands."""
        if arena is self.arena:
            return row_of(
                *arena.arrays, self.index, self._values, self.native, self._contacts.numbers,
                self._watcher, self._free, self._slip, *self._kinematic,
            )  # fmt: skip
        if arena not in self._guests:
            self._guests[arena] = row_of(*arena.arrays, self.index, self._values)
        return self._guests[arena]

    def connect(
        self,
        native: tuple[IntArray, IntArray, IntArray],
        watcher: IntArray | None = None,
        free: FloatArray | None = None,
        slip: FloatArray | None = None,
    ) -> None:
        """Set the arrays by which kernels call the engine, count overlaps, and see free bodies."""
        self.native = native
        self._free = self._free if free is None else free
        self._slip = self._slip if slip is None else slip
        self._watcher = self._watcher if watcher is None else watcher
        self._renew_row()

    def watch_kinematic_bodies(self, anchors: FloatArray, pressed: FloatArray) -> None:
        """Set the tables by which kernels look at kinematic bodies: ``engine.kinematic_bodies``."""
        self._kinematic = anchors, pressed
        self._renew_row()

    def _renew_row(self) -> None:
        touching = self.cells[SCENE.touching]
        self.row = self._row_of(self.arena)
        self.cells, self.place = cells_of(self.row), addresses(self.row[0])
        self.cells[SCENE.touching] = touching

    def forget(self) -> None:
        """Drop what is known of the world's bodies, which is void if the world has changed."""
        self._contacts.forget_bodies()

    # --- the solve ----------------------------------------------------------------------------

    def solve_alone(self, dt: float, gravity: Sequence[float]) -> int:
        """Solve a scene without contacts; return the outcome."""
        prepare(self.row, PREPARE_ROWS, 0, 0, dt, *gravity)
        while (status := int(solve(self.row, SOLVE_ALL, 0, 0, 0, dt))) == outcomes.NEEDS_ROOM:
            self.make_room()
        return status

    def solve_touching(
        self,
        touching: Touching,
        dt: float,
        gravity: Sequence[float],
        joined: Mapping[int, SceneArrays],
    ) -> tuple[int, dict[int, int]]:
        """Solve a scene with contacts; return its outcome, and those of the joined scenes.

        ``joined``: arenas of scenes that take their own forces from this solve, by their numbers in
        ``touching``, read anew.
        """
        others = [
            joined[k + 1] if k + 1 in joined else self._borrow(touching, k, dt, gravity)
            for k in range(len(touching.readers))
        ]
        free = len(touching.free_bodies) // FREE.size
        contacts = self.fill(touching, others)
        prepare(self.row, PREPARE_ROWS, 0, contacts, dt, *gravity)
        for k, arena in joined.items():
            prepare(self._row_of(arena), PREPARE_ROWS, k, contacts, dt, *gravity)
        while True:
            solve(self.row, SOLVE_OPEN | SOLVE_GATHER, 0, contacts, free, dt)
            rows = [self._row_of(other) for other in others]
            for k, row in enumerate(rows):
                solve(row, SOLVE_GATHER, k + 1, contacts, free, dt)
            if not solve(self.row, SOLVE_ISLANDS, 0, contacts, free, dt):
                break
            self.make_room()
            contacts = self.fill(touching, others)
        # All impulses are limited before forces are taken, or sides of a contact would differ.
        solve(np.concatenate([self.row, *rows]), SOLVE_REDUCE_TARGETS, 0, contacts, free, dt)
        status = int(solve(self.row, SOLVE_FINISH, 0, contacts, free, dt))
        found = {k: int(solve(rows[k - 1], SOLVE_FINISH, k, contacts, free, dt)) for k in joined}
        for other in others:
            other.ints[[record.offset + PARTICIPATION for record in other.records]] = 1
        return status, found

    def _borrow(
        self, touching: Touching, k: int, dt: float, gravity: Sequence[float]
    ) -> SceneArrays:
        """Return another scene's arena in its present state, for an island that reaches it.

        Its memory stays: forces on it are applied by its own solve, or they would add up.
        """
        reader = touching.readers[k]
        other: SceneArrays = reader.articulations[0].arena
        memory = other.memory()
        for articulation in reader.articulations:
            offset = articulation.record.offset
            reached = (k + 1, offset) in touching.articulations
            other.ints[offset + PARTICIPATION] = 2 if reached else 0
            if reached:
                articulation.evaluate()
        prepare(self._row_of(other), PREPARE_ROWS, 0, 0, dt, *gravity)
        other.recall(memory)
        return other

    # --- room ---------------------------------------------------------------------------------

    def fill(self, touching: Touching, others: Sequence[SceneArrays]) -> int:
        """Write contacts and free bodies into the islands; return the number of contacts."""
        numbers = touching.free_bodies
        free = len(numbers) // FREE.size
        count = touching.fill(self.index, self._values)
        records = [(other, record) for other in others for record in other.records]
        needed = (
            len(self.arena.records) + free + len(records),
            self._rows
            + 3 * abs(count)
            + sum(int(k.record(record).total_rows) for k, record in records),
            abs(count),
            free,
            self._dofs + 6 * free + sum(record.dof_count for _, record in records),
        )
        if count < 0 or any(need > room for need, room in zip(needed, self._room, strict=True)):
            self.make_room(
                *(
                    int(_SPARE * need) if need > room else room
                    for need, room in zip(needed, self._room, strict=True)
                )
            )
            count = touching.fill(self.index, self._values)
        self.record.free[: len(numbers) // FREE.size] = np.reshape(numbers, (-1, FREE.size))
        return count

    def make_room(self, *room: int) -> None:
        """Allocate larger arrays; ``room``: blocks, rows, contacts, free bodies and velocities."""
        islands = self.record
        floats = max(
            int(islands.capacity - islands.first),
            int(_SPARE * (islands.needed - islands.first)),
        )
        blocks, rows, contacts, free, dofs = room or self._room
        self._room = (blocks, rows, contacts, free, dofs)
        self.index, self._values = allocate(*self._room, floats)
        self._limit_contacts()
        self._guests.clear()
        self._renew_row()

    def _limit_contacts(self) -> None:
        blocks, rows, contacts, free, dofs = self._room
        self._contacts.limit(
            min(contacts, (rows - self._rows) // 3),
            min(free, blocks - len(self.arena.records), (dofs - self._dofs) // 6),
        )


def cells_of(row: IntTable) -> memoryview:
    """Return the numbers of a table, read and written at a quarter of NumPy's cost."""
    return row.data.cast("B").cast("q")
