"""``python -m tools.bench steps``: ``scene.step()`` of every file beside the bare engine's step.

Both step the same bodies in the same world, by turns, so nothing that is measured is chosen: all
files of ``examples/assets`` and, where it is beside the checkout, of ``../shared/assets``.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pybullet

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.runtime.asset import load_gltf
from gltf_bullet.runtime.scene import Scene
from tools.bench.assets import ASSETS

SHARED = ASSETS.parents[2] / "shared" / "assets"
_LARGEST = 6_000_000
"""[bytes] Larger files hold pictures and meshes: they take seconds to load."""
_AT_ONCE = 10
"""Steps that are timed together."""
SHARE_OF_MOST, MORE_OF_MOST = 0.5, 6.0
"""What nine tenths of the files may cost more than the bare step: a share of it, and [us]."""
SHARE_OF_ALL, MORE_OF_ALL = 1.0, 15.0
"""Likewise of all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTax:
    """What a step of one file costs."""

    name: str
    bodies: int
    joints: int
    triggers: int
    driven: int
    """Number of its joint axes with a drive or a limit: the engine has no such forces, so that they
    are measured against a loop by hand (``python -m tools.bench solve``).
    """
    fast: int
    """Number of bodies that go further in a step than they are thick: their paths are swept."""
    ours: float
    """[us]"""
    bare: float
    """[us]"""

    @property
    def over(self) -> float:
        """By how much ours costs more [us]."""
        return self.ours - self.bare

    @property
    def is_bare(self) -> bool:
        """True if the engine alone does all that a step does."""
        return not (self.driven or self.fast)

    def is_within(self, share: float, more: float) -> bool:
        """Return True if ours costs at most ``share`` of the bare step and ``more`` [us] more."""
        return self.over <= share * self.bare + more


def files() -> Iterator[Path]:
    """Yield all files, equal contents once."""
    seen: set[bytes] = set()
    for folder in (ASSETS, SHARED):
        for path in sorted(folder.rglob("*.gl*")):
            if path.suffix not in (".gltf", ".glb") or path.stat().st_size > _LARGEST:
                continue
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                yield path


def step_taxes(repeats: int, after: float) -> list[StepTax]:
    """Measure all files with bodies; the least of ``repeats`` turns counts.

    Args:
        repeats: Turns of ours and of the bare engine.
        after: Simulated time before them [s].
    """
    return [tax for path in files() if (tax := _tax_of(path, repeats, after)) is not None]


def _tax_of(path: Path, repeats: int, after: float) -> StepTax | None:
    with headless_world(gravity=(0.0, 0.0, -9.81)) as client_id:
        try:
            scene = load_gltf(path, client_id)
        except GltfBulletError:
            return None
        if not scene.bodies:
            return None
        scene.step(round(240.0 * after))
        best = [np.inf, np.inf]
        turns: tuple[Callable[[], object], ...] = (
            scene.step, lambda: pybullet.stepSimulation(client_id)
        )  # fmt: skip
        for _ in range(repeats):
            for k, one in enumerate(turns):
                start = time.perf_counter()
                for _ in range(_AT_ONCE):
                    one()
                best[k] = min(best[k], 1e6 * (time.perf_counter() - start) / _AT_ONCE)
        joined = scene.core.world.articulations.articulations
        return StepTax(
            name=path.name, bodies=len(scene.bodies), joints=len(scene.joints),
            triggers=len(scene.triggers),
            driven=sum(articulation.record.row_count for articulation in joined),
            fast=_fast_bodies(scene), ours=float(best[0]), bare=float(best[1]),
        )  # fmt: skip


def _fast_bodies(scene: Scene) -> int:
    """Return the number of bodies that go further in a step than they may unseen."""
    free, dt = scene.core.world.free, scene.core.session.settings().time_step
    furthest = free.table.furthest(dt).tolist()
    speeds = [
        np.linalg.norm(pybullet.getBaseVelocity(body, scene.client_id)[0]) for body in free.ids
    ]
    return sum(dt * float(v) > most for v, most in zip(speeds, furthest, strict=True))


def summary(taxes: list[StepTax]) -> dict[str, float]:
    """Quantiles of the ratio and of the difference, and the shares that keep to the bounds.

    The bounds are for steps that the engine alone could make.
    """
    ratios, over = np.array([[t.ours / t.bare, t.over] for t in taxes]).T
    bare = [tax for tax in taxes if tax.is_bare]
    return {
        "files": len(taxes),
        "ratio, median": float(np.median(ratios)),
        "ratio, 90 %": float(np.quantile(ratios, 0.9)),
        "ratio, worst": float(ratios.max()),
        "more than bare, median [us]": float(np.median(over)),
        "more than bare, 90 % [us]": float(np.quantile(over, 0.9)),
        "without drives, limits and fast bodies": len(bare),
        "of these within 0.5 x bare + 6 us [0.9]": _share_within(bare, SHARE_OF_MOST, MORE_OF_MOST),
        "within 1 x bare + 15 us [1.0]": _share_within(bare, SHARE_OF_ALL, MORE_OF_ALL),
        "of all within 0.5 x bare + 6 us": _share_within(taxes, SHARE_OF_MOST, MORE_OF_MOST),
        "of all within 1 x bare + 15 us": _share_within(taxes, SHARE_OF_ALL, MORE_OF_ALL),
    }


def _share_within(taxes: list[StepTax], share: float, more: float) -> float:
    return float(np.mean([tax.is_within(share, more) for tax in taxes]))
