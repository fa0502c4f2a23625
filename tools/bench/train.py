"""``python -m tools.bench train``: environments against those that a newcomer writes for PyBullet.

Both sides do the same tasks in episodes, under the same random actions, with gymnasium's interface
around. Resets and steps are timed apart.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import gltf_bullet as gb
from gltf_bullet.bullet.owned_world import close_world, open_world
from gltf_bullet.envs import (
    CameraObservation,
    DriveAction,
    EnvConfig,
    GltfEnv,
    GltfVectorEnv,
    StepContext,
    terms,
)
from tools.bench.assets import ASSETS, cart_pole_gltf
from tools.bench.baselines.cart_pole import BareCartPoles
from tools.bench.baselines.plain_tasks import (
    PICTURE,
    PlainCartPole,
    PlainGripper,
    PlainHopper,
    PlainReacher,
    PlainSwingUp,
    PlainTask,
    PlainWalker,
    give_base_speed,
    give_joint_speed,
)
from tools.bench.task_files import gripper_gltf, hopper_gltf

__all__ = ["TASKS", "TRAIN_ROWS", "BareVectorEnv", "PlainEnv", "Task", "Throughput", "TrainRow"]

CHUNK = 150
"""Steps that one side makes, to the end of an episode, before the other one has its turn."""

Env: TypeAlias = Any
"""With gymnasium's ``reset``, ``step`` and ``close``, single or vector."""

_ROD_MASS = "/nodes/2/extensions/KHR_physics_rigid_bodies/motion/mass"
SOLE_FRICTION = "/extensions/KHR_physics_rigid_bodies/physicsMaterials/1/dynamicFriction"
_ROD_DAMPING = "/extensions/KHR_physics_rigid_bodies/physicsJoints/0/drives/0/damping"


def push_pole(scene: gb.Scene, rng: np.random.Generator) -> None:
    """A joint is an ordinary one of PyBullet's."""
    (hinge,) = scene.joints["Hinge"].degrees_of_freedom
    speed = rng.uniform(-0.5, 0.5)
    give_joint_speed(scene.client_id, hinge.body_id, hinge.link_index, speed)


def push_rod(scene: gb.Scene, rng: np.random.Generator) -> None:
    """Likewise."""
    (hinge,) = scene.joints["HingeOnRod"].degrees_of_freedom
    speed = rng.uniform(-0.15, 0.15)
    give_joint_speed(scene.client_id, hinge.body_id, hinge.link_index, speed)


def shove_torso(scene: gb.Scene, rng: np.random.Generator) -> None:
    """The torso is the base of a body of PyBullet's."""
    x, y = rng.uniform(-0.2, 0.2, 2).tolist()
    give_base_speed(scene.client_id, scene.bodies["Torso"].body_id, (x, y, 0.0))


def lifted(_: gb.Scene, context: StepContext) -> bool:
    """The cube is high above the table."""
    return context.sight.place("Cube")[2] > 0.12


def uprightness(_: gb.Scene, context: StepContext) -> float:
    """1 while the rod stands, -1 while it hangs."""
    return -math.cos(context.sight.joint("HingeOnRod"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The same thing to do on both sides, with the same numbers to see."""

    asset: str | bytes
    """An example's name, or a file."""
    config: EnvConfig
    plain: Callable[[int], PlainTask]
    """Made in a PyBullet world."""

    def read(self) -> str | bytes:
        """What environments are made of."""
        if isinstance(self.asset, bytes):
            return self.asset
        return str(ASSETS / f"{self.asset}.gltf")


TASKS = {
    "cart-pole": Task(
        asset=cart_pole_gltf(),
        config=EnvConfig(
            actions=(DriveAction(joint="Slide", mode="force"),),
            bodies=(),
            rewards=(terms.Alive(),),
            terminations=(
                terms.JointOutside(joint="Hinge", low=-0.2, high=0.2),
                terms.JointOutside(joint="Slide", low=-2.4, high=2.4),
            ),
            on_reset=push_pole,
            max_episode_steps=PlainCartPole.most_steps,
        ),
        plain=PlainCartPole,
    ),
    "swing-up": Task(
        asset="swing_up",
        config=EnvConfig(
            actions=(DriveAction(joint="HingeOnRod", mode="force"),),
            bodies=(),
            rewards=(uprightness,),
            on_reset=push_rod,
            randomization={_ROD_MASS: (0.8, 1.2), _ROD_DAMPING: (0.0, 0.04)},
            max_episode_steps=PlainSwingUp.most_steps,
            frame_skip=8,
        ),
        plain=PlainSwingUp,
    ),
    "reacher": Task(
        asset="reacher",
        config=EnvConfig(
            actions=tuple(
                DriveAction(joint=joint, low=-3.0, high=3.0) for joint in ("Shoulder", "Elbow")
            ),
            bodies=(),
            nodes=("Tip", "Goal"),
            rewards=(
                terms.Distance(node="Tip", target="Goal", weight=-0.1),
                terms.TriggerEntered(trigger="Goal"),
            ),
            terminations=(terms.TriggerEntered(trigger="Goal"),),
            randomization={"/nodes/12/translation": ((0.2, 0.325, -0.6), (0.7, 0.325, 0.6))},
            max_episode_steps=PlainReacher.most_steps,
            frame_skip=8,
        ),
        plain=PlainReacher,
    ),
    "walker": Task(
        asset="walker",
        config=EnvConfig(
            bodies=("Torso",),
            rewards=(terms.Speed(body="Torso", weight=1.0 / 30.0),),
            terminations=(terms.Below(node="Torso", height=0.26),),
            on_reset=shove_torso,
            max_episode_steps=PlainWalker.most_steps,
            frame_skip=8,
        ),
        plain=PlainWalker,
    ),
    "hopper": Task(
        asset=hopper_gltf(),
        config=EnvConfig(
            actions=tuple(
                DriveAction(joint=joint, mode="force") for joint in ("Hip", "Knee", "Ankle")
            ),
            bodies=(),
            rewards=(
                terms.Speed(body="Torso"),
                terms.Alive(),
                terms.ControlCost(weight=-0.001),
            ),
            terminations=(
                terms.Below(node="Torso", height=0.7),
                terms.Tipped(node="Torso", angle=0.8),
            ),
            randomization={
                "/nodes/1/extensions/KHR_physics_rigid_bodies/motion/mass": (3.0, 5.0),
                SOLE_FRICTION: (0.6, 1.2),
            },
            max_episode_steps=PlainHopper.most_steps,
        ),
        plain=PlainHopper,
    ),
    "gripper": Task(
        asset=gripper_gltf(),
        config=EnvConfig(
            bodies=("Cube",),
            camera=CameraObservation(width=PICTURE[0], height=PICTURE[1], follows=False),
            flat=False,
            rewards=(terms.Height(node="Cube"),),
            terminations=(lifted,),
            randomization={"/nodes/2/translation": ((-0.02, 0.02, -0.01), (0.02, 0.02, 0.01))},
            max_episode_steps=PlainGripper.most_steps,
            frame_skip=8,
            options=gb.LoadOptions(visuals="mesh"),
        ),
        plain=PlainGripper,
    ),
}


class PlainEnv(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """A task as somebody writes it who needs no other: what one of ours is held against."""

    def __init__(self, make: Callable[[int], PlainTask]) -> None:
        """Make the task in a world of its own."""
        config = EnvConfig()
        self._client_id = open_world(gravity=config.gravity, time_step=config.time_step)
        self._task = make(self._client_id)
        seen, acted = self._task.sizes
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(
            -np.inf, np.inf, (seen,), np.float32
        )
        if isinstance(self._task, PlainGripper):
            self.observation_space = self._task.space
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (acted,), np.float32)
        self._step = 0

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002  # gymnasium's signature
    ) -> Any:
        """Start an episode."""
        super().reset(seed=seed)
        self._step = 0
        return self._task.reset(self.np_random), {}

    def step(self, action: npt.NDArray[np.float32]) -> Any:
        """Go on."""
        self._step += 1
        observed, reward, is_over = self._task.step(action)
        return observed, reward, is_over, self._step >= self._task.most_steps, {}

    def close(self) -> None:
        """Close the world."""
        close_world(self._client_id)


class BareVectorEnv:
    """Many cart-poles by hand in one world, whose episodes have no end."""

    def __init__(self, count: int) -> None:
        self.num_envs = count
        config = EnvConfig()
        self._client_id = open_world(gravity=config.gravity, time_step=config.time_step)
        self._carts = BareCartPoles(self._client_id, count)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, **_: Any) -> Any:
        """All poles upright."""
        return self._carts.reset().astype(np.float32), {}

    def step(self, actions: npt.NDArray[np.float32]) -> Any:
        """Push all for four engine steps."""
        observed = self._carts.step(actions[:, 0].astype(np.float64), EnvConfig().frame_skip)
        nothing = np.zeros(self.num_envs, dtype=np.bool_)
        return observed.astype(np.float32), np.ones(self.num_envs), nothing, nothing, {}

    def close(self) -> None:
        """Close the world."""
        close_world(self._client_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Medians of both sides, in microseconds of the processor for one environment."""

    ours: float
    """Per step."""
    theirs: float
    our_reset: float
    """Per reset; 0 where environments start over within their steps."""
    their_reset: float

    @property
    def ratio(self) -> float:
        """How many times as long a step of ours takes."""
        return self.ours / self.theirs

    @property
    def reset_ratio(self) -> float:
        """Likewise of a reset."""
        return self.our_reset / self.their_reset if self.their_reset else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainRow:
    """A way to run environments."""

    name: str
    what: str
    ours: Callable[[], Env]
    theirs: Callable[[], Env]
    clock: Callable[[], float] = field(default=time.process_time)
    """[s]"""

    def measure(self, repeats: int) -> Throughput:
        """Both sides by turns."""
        with ExitStack() as stack:
            pair = []
            for make in (self.ours, self.theirs):
                env = make()
                stack.callback(env.close)
                env.reset(seed=0)
                _run(env, self.clock)  # compiles, and fills caches
                pair.append(env)
            found = [[_run(env, self.clock) for env in pair] for _ in range(2 * repeats)]
        (ours, our_reset), (theirs, their_reset) = (
            [statistics.median(times) for times in zip(*side, strict=True)]
            for side in zip(*found, strict=True)
        )
        return Throughput(ours=ours, theirs=theirs, our_reset=our_reset, their_reset=their_reset)


def _run(env: Env, clock: Callable[[], float]) -> tuple[float, float]:
    """[us] of a step and of a reset of one environment."""
    is_vector = hasattr(env, "num_envs")
    count = env.num_envs if is_vector else 1
    space = env.single_action_space if is_vector else env.action_space
    shape = (count, *space.shape) if is_vector else space.shape
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (CHUNK, *shape)).astype(np.float32)
    if is_vector:
        start = clock()
        for action in actions:
            env.step(action)
        return 1e6 * (clock() - start) / (CHUNK * count), 0.0
    steps = resets = 0
    stepping = resetting = 0.0
    while steps < CHUNK:
        start = clock()
        env.reset()
        begun = clock()
        is_over, resets = False, resets + 1
        while not is_over:
            _, _, terminated, truncated, _ = env.step(actions[steps % CHUNK])
            is_over, steps = terminated or truncated, steps + 1
        resetting, stepping = resetting + begun - start, stepping + clock() - begun
    return 1e6 * stepping / steps, 1e6 * resetting / resets


def _rows() -> Iterator[TrainRow]:
    for name, task in TASKS.items():
        yield TrainRow(
            name=name,
            what=f"GltfEnv / a plain environment, {task.config.frame_skip} engine steps",
            ours=partial(_single, name),
            theirs=partial(PlainEnv, task.plain),
        )
    # PyBullet does not survive a fork with open worlds.
    apart = partial(AsyncVectorEnv, context="spawn")
    single, plain = partial(_single, "cart-pole"), partial(PlainEnv, PlainCartPole)
    yield TrainRow(
        name="async-2",
        what="cart-poles, AsyncVectorEnv of 2 processes / the same of plain ones",
        ours=partial(apart, [single] * 2),
        theirs=partial(apart, [plain] * 2),
        clock=time.perf_counter,
    )
    for count in (16, 64):
        yield TrainRow(
            name=f"batch-{count}",
            what=f"cart-poles, GltfVectorEnv of {count} / SyncVectorEnv of plain ones",
            ours=partial(_many, count),
            theirs=partial(SyncVectorEnv, [plain] * count, autoreset_mode=_MODE),
        )
    yield TrainRow(
        name="world-64",
        what="cart-poles, GltfVectorEnv of 64 / a loop by hand over 64 in one world",
        ours=partial(_many, 64),
        theirs=partial(BareVectorEnv, 64),
    )


_MODE = AutoresetMode.NEXT_STEP


def _single(name: str) -> GltfEnv:
    task = TASKS[name]
    return GltfEnv(task.read(), task.config)


def _many(count: int) -> GltfVectorEnv:
    task = TASKS["cart-pole"]
    return GltfVectorEnv(task.read(), count, task.config)


TRAIN_ROWS = tuple(_rows())
"""In the order of the table."""
