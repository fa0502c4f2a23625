"""What load/remove cycles leave behind, against bare PyBullet doing the same."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.asset import read_asset
from tools.bench.assets import mesh_scene_gltf
from tools.bench.baselines.loading import BareBodies, count_in_world

__all__ = ["Growth", "can_measure_growth", "measure_growth"]

WARM_UP_CYCLES = 50
"""Cycles before the first measurement: caches fill and the heap finds its size."""


class _HeapInfo(ctypes.Structure):
    """``struct mallinfo2`` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What is there after some cycles beyond what was there before."""

    heap_kb: float
    """Allocated by C code and not freed: exact, where the size of the process grows in steps."""
    python_blocks: int
    """Python's own allocations, which are not in :attr:`heap_kb`."""
    bodies_and_constraints: tuple[int, int]
    """In the world at the end."""


def can_measure_growth() -> bool:
    """Whether the C library tells what it has allocated: glibc 2.33 and later."""
    try:
        return hasattr(ctypes.CDLL("libc.so.6"), "mallinfo2")
    except OSError:
        return False


def measure_growth(bodies: int, cycles: int) -> tuple[Growth, Growth]:
    """Growth by load/remove cycles of a mesh scene, and by bare PyBullet with as many bodies.

    Each in a fresh process: freed memory of earlier work would be used first and hide growth.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        ours = pool.submit(_own, bodies, cycles).result()
        # Where no other scene stands in the world, a temporary probe body tells whether it is new.
        theirs = pool.submit(_bare, bodies + 1, cycles).result()
    return ours, theirs


def _own(bodies: int, cycles: int) -> Growth:
    asset = read_asset(mesh_scene_gltf(bodies - 1))  # and a floor
    with headless_world() as client:
        return _growth(lambda: asset.instantiate(client).remove(), cycles, client)


def _bare(bodies: int, cycles: int) -> Growth:
    with headless_world() as client:
        bare = BareBodies(client)
        return _growth(lambda: bare.cycle(bodies), cycles, client)


def _growth(cycle: Callable[[], object], cycles: int, client_id: int) -> Growth:
    for _ in range(WARM_UP_CYCLES):
        cycle()
    heap, blocks = _heap_kb(), sys.getallocatedblocks()
    for _ in range(cycles):
        cycle()
    return Growth(
        heap_kb=_heap_kb() - heap,
        python_blocks=sys.getallocatedblocks() - blocks,
        bodies_and_constraints=count_in_world(client_id),
    )


def _heap_kb() -> float:
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = _HeapInfo
    gc.collect()
    info = libc.mallinfo2()
    return float(info.uordblks + info.hblkhd) / 1024.0
