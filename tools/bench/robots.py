"""``python -m tools.bench robots``: those that ``pybullet_data`` ships, against ``loadURDF``."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from gltf_bullet.bullet.session import headless_world
from gltf_bullet.cli.robots import read_source
from tools.bench.assets import cart_pole_gltf
from tools.bench.baselines.robots import HeldRobot, robot_file, robot_loads
from tools.bench.rows import BenchRow, Measurement, milliseconds, ratio

__all__ = ["ROBOT_ROWS"]

_COPIES = 5
_ARMS = ("kuka_iiwa/model", "franka_panda/panda", "xarm/xarm6_robot")
"""Bolted to the floor."""
_DROP = 0.6
"""[m] above the floor, for all others."""
_SETTLE, _STEPS = 480, 10
"""Steps until they stand or lie, and steps that are timed as one."""
_FIRST = """
import sys, time
import pybullet, gltf_bullet as gb
client = pybullet.connect(pybullet.DIRECT)
gb.load_gltf(sys.argv[1], client).step()
start = time.perf_counter()
pybullet.loadURDF(sys.argv[3], physicsClientId=client)
native = time.perf_counter()
gb.load_gltf(sys.argv[2], client)
print(f"\\n{1e3 * (time.perf_counter() - native)} {1e3 * (native - start)}")
"""
"""A process that has loaded another asset loads this robot for the first time."""


def _first(robot: str, repeats: int) -> Measurement:
    """The first load in new processes, with what is kept on disk kept."""
    source = robot_file(robot)
    with TemporaryDirectory() as folder:
        other, own = Path(folder) / "other.gltf", Path(folder) / "robot.glb"
        other.write_bytes(cart_pole_gltf())
        own.write_bytes(read_source(source).to_glb())
        command = [sys.executable, "-c", _FIRST, str(other), str(own), str(source)]
        pairs = []
        for _ in range(1 + repeats):
            made = subprocess.run(command, check=True, capture_output=True)  # ours
            pairs.append(map(float, made.stdout.splitlines()[-1].split()))
        return ratio(*zip(*pairs[1:], strict=True))


def _further(robot: str, repeats: int) -> Measurement:
    """A further copy of a converted robot against ``loadURDF`` of it, by turns in one world."""
    source = robot_file(robot)
    asset = read_source(source)
    with headless_world() as client:
        load = robot_loads(client, source)
        asset.instantiate(client, position=(0.0, 5.0, 0.0))
        load((0.0, 0.0, 0.0))
        ours, theirs = [], []
        for k in range(1, 1 + repeats * _COPIES):
            theirs.append(milliseconds(partial(load, (4.0 * k, 0.0, 0.0))))
            place = (4.0 * k, 5.0, 0.0)
            ours.append(milliseconds(partial(asset.instantiate, client, position=place)))
    return ratio(ours, theirs)


def _step(robot: str, repeats: int) -> Measurement:
    """A robot that PyBullet's motors hold on a floor, by turns with the same one of ``loadURDF``.

    Both are given a command in every step; what ours does is in the arrays of its scene already.
    """
    source, is_arm = robot_file(robot), robot in _ARMS
    asset = read_source(source, fixed_base=is_arm)
    place = (0.0, 0.0, 0.0 if is_arm else _DROP)
    with headless_world() as ours, headless_world() as theirs:
        scene = asset.instantiate(ours, position=place)
        (body,) = {body.body_id for body in scene.bodies.values()}
        own = HeldRobot(ours, body)
        native = HeldRobot(theirs, robot_loads(theirs, source, fixed_base=is_arm)(place))
        for client in () if is_arm else (ours, theirs):
            robot_loads(client, robot_file("plane"))((0.0, 0.0, 0.0))

        def steps(count: int) -> None:
            for _ in range(count):
                own.command()
                scene.step()

        steps(_SETTLE)
        native.steps(_SETTLE)
        pairs = [
            (milliseconds(partial(steps, _STEPS)), milliseconds(partial(native.steps, _STEPS)))
            for _ in range(2 * repeats)
        ]
    return ratio(*zip(*pairs, strict=True))


ROBOT_ROWS = tuple(
    BenchRow(
        name=f"{robot.rpartition('/')[2]}-{kind}", what=what, goal=goal,
        measure=partial(measure, robot),
    )
    for robot in (
        "kuka_iiwa/model", "franka_panda/panda", "xarm/xarm6_robot", "laikago/laikago_toes",
        "a1/a1", "quadruped/minitaur", "husky/husky", "racecar/racecar", "r2d2",
        "humanoid/humanoid", "cartpole",
    )
    for kind, what, goal, measure in (
        ("first", "first load in a process / loadURDF", 3.0, _first),
        ("further", "a further copy / loadURDF", 1.0, _further),
        ("step", "a step with a command / with a state read too", 1.5, _step),
    )
)  # fmt: skip
"""In the order of the table."""
