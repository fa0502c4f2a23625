"""``python -m tools.bench solve``: a step with joints against the loop that one writes by hand.

Both sides have the same bodies in worlds of their own and go through the same motion: the loop by
hand pushes with the very forces that the solve has found, which it was given beforehand.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import Vec3
from tools.bench.assets import ASSETS, lift_gltf, without_static_parts
from tools.bench.baselines.joint_loops import HandLoop, Pushes, add_floor

__all__ = ["SOLVE_ROWS", "Comparison", "SolveRow"]

_WARM_UP = 3
"""Steps after a state was restored: contacts are found anew."""
_CHUNK = 20
"""Steps that one side makes before the other one has its turn."""


def _apart(number: int) -> Vec3:
    return (20.0 * (number % 8), 20.0 * (number // 8), 0.0)


def _heaped(number: int) -> Vec3:
    return (0.3 * (number % 2), 0.3 * (number // 2 % 2), 1.8 * number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Medians of both sides."""

    ours: float
    """[us] per step."""
    theirs: float

    @property
    def ratio(self) -> float:
        """By hand over ours: below 1 we are slower."""
        return self.theirs / self.ours


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRow:
    """One line of the table."""

    name: str
    what: str
    goal: float
    """The least good ratio (DESIGN section 8)."""
    asset: str | bytes
    """An example's name, or a file."""
    copies: int = 1
    place: Callable[[int], Vec3] = _apart
    """Where each copy stands [m], by number."""
    settle: int = 120
    """Steps before anything is measured."""
    on_one_floor: bool = False
    """Whether all copies share one floor, and have no ground of their own."""

    def measure(self, repeats: int) -> Comparison:
        """Both sides by turns."""
        asset = self._read()
        with headless_world() as client, headless_world() as other:
            scenes, step = self._load(asset, client)
            _, settle = self._load(asset, other)
            for _ in range(self.settle):
                step()
                settle()
            by_hand = HandLoop(other)
            states = [scene.save_state() for scene in scenes[:1]]
            pushes: list[Pushes] = []
            for _ in range(_WARM_UP + _CHUNK):
                step()
                pushes.append(
                    {body: push for scene in scenes for body, push in _pushes(scene).items()}
                )
            ours, theirs = [], []
            for _ in range(4 * repeats):
                for scene, state in zip(scenes, states, strict=False):
                    scene.restore_state(state)
                ours.append(_timed([step] * (_WARM_UP + _CHUNK)))
                by_hand.rewind()
                theirs.append(_timed([_bound(by_hand, push) for push in pushes]))
        return Comparison(ours=statistics.median(ours), theirs=statistics.median(theirs))

    def _read(self) -> Asset:
        if isinstance(self.asset, bytes):
            return read_asset(self.asset)
        if self.on_one_floor:
            return read_asset(without_static_parts(self.asset))
        return read_asset(ASSETS / f"{self.asset}.gltf")

    def _load(self, asset: Asset, client: int) -> tuple[list[Scene], Callable[[], None]]:
        """Copies in one world, and what steps them."""
        if self.on_one_floor:
            add_floor(client)
        scenes = [
            asset.instantiate(client, position=self.place(number)) for number in range(self.copies)
        ]
        if self.copies == 1:
            return scenes, scenes[0].step
        for scene in scenes:
            scene.core.disable_reset()
        return scenes, scenes[0].step


def _pushes(scene: Scene) -> Pushes:
    """What the engine was given last."""
    return scene.core.world.articulations.solver.io.commands.pushes()


def _bound(loop: HandLoop, push: Pushes) -> Callable[[], None]:
    return lambda: loop.step(push)


def _timed(calls: list[Callable[[], None]]) -> float:
    """[us] of the processor per call, the first ones left out: what else runs counts less."""
    for call in calls[:_WARM_UP]:
        call()
    gc.disable()
    try:
        start = time.process_time()
        for call in calls[_WARM_UP:]:
            call()
        passed = time.process_time() - start
    finally:
        gc.enable()
    return 1e6 * passed / len(calls[_WARM_UP:])


SOLVE_ROWS = (
    SolveRow(name="cart-pole", what="cart-pole", goal=0.4, asset="cart_pole"),
    SolveRow(name="hinge", what="hinge door", goal=0.4, asset="hinge_door"),
    SolveRow(name="arm", what="six-axis arm", goal=0.7, asset="six_axis_arm"),
    SolveRow(name="walker", what="walker on its feet", goal=0.5, asset="walker"),
    SolveRow(name="vehicle", what="vehicle that drives", goal=0.6, asset="vehicle"),
    SolveRow(name="ragdoll", what="ragdoll on the floor", goal=0.6, asset="ragdoll", settle=480),
    SolveRow(name="rope", what="rope of 20 balls", goal=0.4, asset="rope"),
    SolveRow(name="bridge", what="suspension bridge", goal=0.4, asset="suspension_bridge"),
    SolveRow(name="reacher", what="reacher, its trigger ours only", goal=0.4, asset="reacher"),
    SolveRow(name="64-cart-poles", what="64 cart-poles in one world", goal=0.4, asset="cart_pole",
             copies=64),
    SolveRow(name="16-walkers", what="16 walkers in one world", goal=0.5, asset="walker",
             copies=16),
    SolveRow(name="lift", what="200 boxes on one lift", goal=0.5, asset=lift_gltf(200)),
    SolveRow(name="heap", what="heap of 8 ragdolls", goal=0.5, asset="ragdoll", copies=8,
             settle=720, place=_heaped, on_one_floor=True),
)  # fmt: skip
"""In the order of the table. Eight ragdolls have come to lie after 720 steps; as they land, a step
takes 2.8 to 4.4 times that by hand (measured after 240 and 360 steps; after 480 twice)."""
