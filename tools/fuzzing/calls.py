"""A random sequence of calls: ours, PyBullet's own behind our back, dead worlds, threads, forks.

Whatever is called, in whatever order and with whatever arguments: a typed error or a result. No
error of somebody else gets out, and a scene that nobody has touched goes on, with finite numbers.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import random
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pybullet

import gltf_bullet as gb
from tools.fuzzing.trial import Failure

__all__ = ["run_calls"]

ASSETS = Path(__file__).resolve().parents[2] / "examples" / "assets"
NAMES = (
    "falling_box", "hinge_door", "vehicle", "ragdoll", "cart_pole", "goal_line", "rope",
    "kinematic_platform", "compound", "pendulum", "slider_motor", "shape_zoo", "four_bar",
)  # fmt: skip
Act: TypeAlias = "Callable[[_Sequence], None]"
LENGTH = 24
"""Calls of a sequence."""
MOST_SCENES, MOST_CLIENTS, MOST_DEEP = 4, 2, 3
MOST_SECONDS = 60.0
"""[s] Time for a fork or a thread on a busy machine, after which it counts as hanging."""
ODD = (
    None, math.nan, math.inf, -1, 0, 1.5, 10**30, "", "no such name", (), [1.0], [math.nan] * 3,
    [1.0, 2.0, 3.0], [1e300] * 3, [None] * 3, [0.0] * 4, b"x", object(), True,
)  # fmt: skip
"""Arguments that somebody may hand over."""
CALLERS = (ValueError, TypeError, KeyError, IndexError, OverflowError)
"""What odd arguments may raise."""


class _Misbehaved(Exception):  # noqa: N818  # of a callback
    """What callbacks of the sequence raise."""


class _Sequence:
    """The state of one sequence."""

    def __init__(self, seed: str, acts: Sequence[Act]) -> None:
        self.acts = acts
        self.rng = random.Random(seed)  # noqa: S311  # reproducible on purpose
        self.clients: list[int] = []
        self.scenes: list[gb.Scene] = []
        self.states: list[Any] = []
        self.made = 0
        self.log: list[str] = []
        self.depth = 0

    def run(self) -> str:
        self.connect()
        self.load()
        for _ in range(LENGTH):
            self.act(self.rng.choice(self.acts))
        return f"{sum(not scene.is_removed for scene in self.scenes)} scenes left"

    def act(self, act: Act) -> None:
        self.log.append(act.__name__)
        act(self)

    def close(self) -> None:
        for client in self.clients:
            if pybullet.isConnected(client):
                pybullet.disconnect(client)

    def call(self, what: str, act: Callable[[], Any], *, odd: bool = False) -> Any:
        """Do it; a typed error is a result, and so is that of a caller where arguments are odd."""
        try:
            return act()
        except (gb.GltfBulletError, _Misbehaved) as error:
            return error
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            if odd and isinstance(error, CALLERS) and not isinstance(error, np.linalg.LinAlgError):
                return error
            frames = traceback.extract_tb(error.__traceback__)
            ours = [f for f in frames if "/gltf_bullet/" in f.filename] or frames
            place = ours[-1].filename.rpartition("gltf_bullet/")[2]
            raise Failure(
                f"{what}: {type(error).__name__} in {place}:{ours[-1].lineno} {str(error)[:80]!r} "
                f"after {' '.join(self.log[-6:])}"
            ) from error

    def raw(self, act: Callable[[], Any]) -> Any:
        """PyBullet's own call; what it says is between it and the user."""
        try:
            return act()
        except (pybullet.error, SystemError, TypeError, ValueError, OverflowError):
            return None

    # --- what there is ---------------------------------------------------------------------------

    @property
    def client(self) -> int:
        return self.rng.choice(self.clients)

    @property
    def scene(self) -> gb.Scene:
        return self.rng.choice(self.scenes)

    def body_id(self, client: int) -> int:
        count = self.raw(lambda: pybullet.getNumBodies(client)) or 0
        number = self.rng.randrange(count + 1)
        return self.raw(lambda: pybullet.getBodyUniqueId(number, client)) or 0

    def odd(self) -> Any:
        return self.rng.choice(ODD)

    # --- ours ------------------------------------------------------------------------------------

    def load(self) -> None:
        name, client = self.rng.choice(NAMES), self.client
        options = gb.LoadOptions(visuals=self.rng.choice(("none", "none", "collider")))
        found = self.call(
            f"load {name}",
            lambda: gb.load_gltf(
                ASSETS / f"{name}.gltf", client, options=options,
                position=(3.0 * self.made, 0.0, 1.0 + self.rng.random()),
            ),
        )  # fmt: skip
        if isinstance(found, gb.Scene):
            self.made += 1
            self.scenes.append(found)
            if len(self.scenes) > MOST_SCENES:
                del self.scenes[self.rng.randrange(len(self.scenes))]

    def load_odd(self) -> None:
        argument, odd = self.rng.choice(("position", "orientation", "scale", "up_axis")), self.odd()
        found = self.call(
            f"load with {argument} {odd!r}",
            lambda: gb.load_gltf(ASSETS / "falling_box.gltf", self.client, **{argument: odd}),
            odd=True,
        )
        if isinstance(found, gb.Scene):
            self.scenes.append(found)

    def step(self) -> None:
        scene, count = self.scene, self.rng.choice((1, 1, 2, 5))
        self.call("step", lambda: scene.step(count))

    def step_odd(self) -> None:
        scene, odd = self.scene, self.odd()
        if odd != 10**30 and odd is not True:
            self.call(f"step {odd!r}", lambda: scene.step(odd), odd=True)

    def step_by_hand(self) -> None:
        scene = self.scene
        parts = [("before", scene.before_step), ("after", scene.after_step)]
        if self.rng.random() < 0.2:
            parts.reverse()
        self.call(*parts[0])
        self.raw(lambda: pybullet.stepSimulation(scene.client_id))
        self.call(*parts[1])

    def read(self) -> None:
        scene = self.scene
        self.call("node_matrices", lambda: scene.node_matrices)
        self.call("contacts", lambda: scene.contacts())
        for body in list(scene.bodies.values())[:2]:
            self.call("velocity", lambda body=body: (body.linear_velocity, body.center_of_mass))
            self.call("body", lambda body=body: (body.mass, repr(body)))
        for joint in list(scene.joints.values())[:2]:
            self.call("joint", lambda joint=joint: [d.position for d in joint.degrees_of_freedom])

    def push(self) -> None:
        bodies = list(self.scene.bodies.values())
        if bodies:
            body = self.rng.choice(bodies)
            name = self.rng.choice(("apply_impulse", "apply_force", "apply_torque"))
            self.call(name, lambda: getattr(body, name)([0.1, 0.0, 0.3]))

    def push_odd(self) -> None:
        bodies, odd, other = list(self.scene.bodies.values()), self.odd(), self.odd()
        if not bodies:
            return
        body = self.rng.choice(bodies)
        if self.rng.random() < 0.5:
            name = self.rng.choice(("apply_impulse", "apply_force", "apply_torque"))
            self.call(f"{name} {odd!r}", lambda: getattr(body, name)(odd), odd=True)
        else:
            self.call("point", lambda: body.apply_point_impulse(odd, other), odd=True)

    def set_pointer(self) -> None:
        scene, node = self.scene, self.rng.randrange(4)
        path = self.rng.choice(("mass", "linearVelocity", "centerOfMass", "gravityFactor", "x"))
        pointer = f"/nodes/{node}/extensions/KHR_physics_rigid_bodies/motion/{path}"
        value = self.rng.choice((2.0, [0.1, 0.0, 0.2], 0.5, self.odd()))
        self.call(f"get {path}", lambda: scene.get(pointer), odd=True)
        self.call(f"set {path} {value!r}", lambda: scene.set(pointer, value), odd=True)

    def drive(self) -> None:
        scene, odd = self.scene, self.odd()
        targets = self.rng.choice((odd, [odd], [0.3], np.full(3, 0.2)))
        self.call("set_drive_targets", lambda: scene.set_drive_targets(targets), odd=True)

    def cast(self) -> None:
        scene = self.scene
        start, end = self.rng.choice(([0, 0, 9.0], self.odd())), [0.0, 0.0, -9.0]
        self.call("ray_cast", lambda: scene.ray_cast(start, end), odd=True)

    def lookup(self) -> None:
        scene, odd = self.scene, self.odd()
        self.call("node", lambda: scene.node(odd), odd=True)
        self.call("body_of", lambda: scene.body_of(odd), odd=True)
        self.call("world_from_node", lambda: scene.world_from_node(odd), odd=True)

    def save(self) -> None:
        scene = self.scene
        found = self.call("save_state", scene.save_state)
        if not isinstance(found, Exception):
            self.states.append(found)

    def restore(self) -> None:
        scene = self.scene
        state = self.rng.choice([*self.states, self.odd()])
        self.call("restore_state", lambda: scene.restore_state(state), odd=True)

    def reset(self) -> None:
        scene = self.scene
        self.call("reset", scene.reset)

    def remove(self) -> None:
        scene = self.scene
        self.call("remove", scene.remove)

    def listen(self) -> None:
        """Callbacks that misbehave: they raise, step, set, reset or remove the scene itself."""
        scene = self.scene

        def fails(_: object) -> None:
            raise _Misbehaved

        callback = self.rng.choice(
            (fails, lambda _: scene.reset(), lambda _: scene.remove(), lambda _: scene.step())
        )
        self.call("on_trigger", lambda: scene.on_trigger(callback))

    def listen_and_act(self) -> None:
        """Callbacks that do whatever else a sequence does."""
        scene, acts = self.scene, self.rng.choices(_INSIDE, k=3)

        def misbehave(_: object) -> None:
            if self.depth > MOST_DEEP or not acts:
                raise _Misbehaved
            self.depth += 1
            try:
                self.act(acts.pop())
            finally:
                self.depth -= 1

        self.call("on_trigger", lambda: scene.on_trigger(misbehave))

    def copy_states(self) -> None:
        for state in self.states[-2:]:
            copy = lambda state=state: pickle.loads(pickle.dumps(state))  # noqa: S301, E731
            found = self.call("pickle", copy)
            if not isinstance(found, Exception):
                self.states.append(found)

    def fork(self) -> None:
        """A process that goes on with the worlds of this one."""
        acts = self.rng.choices(_TOGETHER, k=3)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for act in acts:
                    self.act(act)
                code = 0
            finally:
                os._exit(code)
        end = time.monotonic() + MOST_SECONDS
        while not (done := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise Failure(f"a fork has no end after {' '.join(self.log[-6:])}")
            time.sleep(1e-3)
        if done[1]:
            raise Failure(f"a fork ends by {done[1]} after {' '.join(self.log[-6:])}")

    def threads(self) -> None:
        failures: list[BaseException] = []

        def work(acts: list[Act]) -> None:
            try:
                for act in acts:
                    self.act(act)
            except BaseException as failure:
                failures.append(failure)

        some = [self.rng.choices(_TOGETHER, k=4) for _ in range(3)]
        working = [threading.Thread(target=work, args=(acts,), daemon=True) for acts in some]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join(MOST_SECONDS)
            if thread.is_alive():
                raise Failure(f"a thread has no end after {' '.join(self.log[-12:])}")
        for failure in failures:
            raise failure

    def export(self) -> None:
        scene, client = self.scene, self.client
        self.call("repr", lambda: (repr(scene), scene.issues))
        if self.rng.random() < 0.3:
            self.call("record", lambda: gb.record(scene))
        if self.rng.random() < 0.1:
            self.call("record_world", lambda: gb.record_world(client))

    def check_odd(self) -> None:
        data = self.rng.choice((b"", b"{}", b"glTF" + bytes(20), io.BytesIO(b"{"), self.odd()))
        if not isinstance(data, int):  # a number names an open file
            self.call(f"check {data!r}"[:60], lambda: gb.check(data), odd=True)

    # --- PyBullet's own, behind our back ---------------------------------------------------------

    def connect(self) -> None:
        if len(self.clients) < MOST_CLIENTS or self.rng.random() < 0.3:
            client = pybullet.connect(pybullet.DIRECT)
            pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
            self.clients = [*[c for c in self.clients if c != client][-1:], client]

    def disconnect(self) -> None:
        client = self.client
        if self.rng.random() < 0.3 and pybullet.isConnected(client):
            pybullet.disconnect(client)
            if self.rng.random() < 0.7:  # the id is given out again
                self.connect()
        if not any(map(pybullet.isConnected, self.clients)):
            self.connect()

    def reset_world(self) -> None:
        client = self.client
        if self.rng.random() < 0.4:
            self.raw(lambda: pybullet.resetSimulation(physicsClientId=client))

    def remove_body(self) -> None:
        client = self.client
        body = self.body_id(client)
        self.raw(lambda: pybullet.removeBody(body, physicsClientId=client))

    def make_body(self) -> None:
        client = self.client
        shape = self.raw(
            lambda: pybullet.createCollisionShape(
                pybullet.GEOM_SPHERE, radius=0.2, physicsClientId=client
            )
        )
        if shape is not None and shape >= 0:
            place = [self.rng.uniform(-2, 2), 0.0, 3.0]
            self.raw(
                lambda: pybullet.createMultiBody(
                    1.0, shape, basePosition=place, physicsClientId=client
                )
            )

    def move_body(self) -> None:
        client = self.client
        body = self.body_id(client)
        turn = self.rng.choice(([0, 0, 0, 1], [0, 0, 0, 0], [0.6, 0, 0, 0.8], [math.nan] * 4))
        place = self.rng.choice(([0, 0, 2], [1e6, 0, 0], [0.1, 0.0, 0.5]))
        self.raw(
            lambda: pybullet.resetBasePositionAndOrientation(
                body, place, turn, physicsClientId=client
            )
        )

    def throw_body(self) -> None:
        client = self.client
        body, speed = self.body_id(client), self.rng.choice((3.0, 1e4))
        self.raw(lambda: pybullet.resetBaseVelocity(body, [speed, 0, 0], physicsClientId=client))

    def move_joints(self) -> None:
        client = self.client
        body = self.body_id(client)
        value = self.rng.choice((0.3, -2.0, 100.0))
        for joint in range(self.raw(lambda: pybullet.getNumJoints(body, client)) or 0):
            self.raw(
                lambda joint=joint: pybullet.resetJointState(
                    body, joint, value, physicsClientId=client
                )
            )

    def motor(self) -> None:
        client = self.client
        body = self.body_id(client)
        count = self.raw(lambda: pybullet.getNumJoints(body, client)) or 0
        for joint in range(min(count, 3)):
            self.raw(
                lambda joint=joint: pybullet.setJointMotorControl2(
                    body, joint, pybullet.VELOCITY_CONTROL, targetVelocity=2.0, force=5.0,
                    physicsClientId=client,
                )
            )  # fmt: skip

    def settings(self) -> None:
        client = self.client
        step = self.rng.choice((1 / 240, 1 / 60, 1 / 240, 0.0, math.nan, 1e9, -1.0))
        self.raw(lambda: pybullet.setTimeStep(step, physicsClientId=client))
        if self.rng.random() < 0.2:
            pull = self.rng.choice((math.nan, 0.0, -9.81))
            self.raw(lambda: pybullet.setGravity(0, 0, pull, physicsClientId=client))
        if self.rng.random() < 0.7:
            self.raw(lambda: pybullet.setTimeStep(1 / 240, physicsClientId=client))
            self.raw(lambda: pybullet.setGravity(0, 0, -9.81, physicsClientId=client))

    def filter_bodies(self) -> None:
        client = self.client
        body = self.body_id(client)
        self.raw(
            lambda: pybullet.setCollisionFilterGroupMask(body, -1, 1, 0, physicsClientId=client)
        )

    def step_world(self) -> None:
        client = self.client
        self.raw(lambda: pybullet.stepSimulation(client))


_OURS = (
    _Sequence.load, _Sequence.load, _Sequence.load_odd, _Sequence.step, _Sequence.step,
    _Sequence.step, _Sequence.step_odd, _Sequence.step_by_hand, _Sequence.read, _Sequence.read,
    _Sequence.push, _Sequence.push_odd, _Sequence.set_pointer, _Sequence.drive, _Sequence.cast,
    _Sequence.lookup, _Sequence.save, _Sequence.restore, _Sequence.reset, _Sequence.remove,
    _Sequence.listen, _Sequence.export, _Sequence.check_odd,
)  # fmt: skip
_THEIRS = (
    _Sequence.connect, _Sequence.disconnect, _Sequence.reset_world, _Sequence.remove_body,
    _Sequence.make_body, _Sequence.move_body, _Sequence.throw_body, _Sequence.move_joints,
    _Sequence.motor, _Sequence.settings, _Sequence.filter_bodies, _Sequence.step_world,
)  # fmt: skip
_PLAIN = (*_OURS, *_THEIRS)
"""What the first found failures were found with; their seeds mean these."""
_ACTS = (
    *_PLAIN, _Sequence.listen_and_act, _Sequence.copy_states, _Sequence.fork, _Sequence.threads,
)  # fmt: skip
_INSIDE = (
    *_OURS, _Sequence.listen_and_act, _Sequence.copy_states, _Sequence.fork, _Sequence.disconnect,
    _Sequence.reset_world, _Sequence.remove_body, _Sequence.make_body,
)  # fmt: skip
"""What callbacks do. They hold the lock of their world: who waits there for a thread that wants it
waits for ever, as with any lock."""
_TOGETHER = (
    _Sequence.step, _Sequence.step, _Sequence.read, _Sequence.push, _Sequence.set_pointer,
    _Sequence.drive, _Sequence.cast, _Sequence.lookup, _Sequence.save, _Sequence.restore,
    _Sequence.reset, _Sequence.export, _Sequence.copy_states, _Sequence.remove,
)  # fmt: skip
"""What threads and forks do: all of it is ours, and holds the lock of its world."""


def run_calls(seed: str, *, plain: bool = False) -> str:
    """Try one sequence; what became of it, in a word.

    Args:
        seed: All follows from it.
        plain: Without threads, forks and callbacks that act.

    Raises:
        Failure: A promise is broken.
    """
    sequence = _Sequence(seed, _PLAIN if plain else _ACTS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sequence.run()
    finally:
        sequence.close()
