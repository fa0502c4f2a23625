"""What any input must do: give a typed error or a scene that stays finite, and spoil nothing.

``check`` and ``load_gltf`` agree; after a failure and after ``remove`` the world is as before; a
body of the user stays finite; no warning of NumPy and no exception of somebody else gets out.
"""

from __future__ import annotations

import math
import random
import traceback
import warnings
from typing import Any

import numpy as np
import pybullet

import gltf_bullet as gb

__all__ = ["Failure", "guarded", "run_trial"]

STEPS = 12
RATES = (1 / 240, 1 / 60)
"""[s]."""
_AMISS = 0.1
"""Share of the steps instead of which something else is called."""
_CALLS = ("before_step", "after_step", "reset")


class Failure(Exception):  # noqa: N818  # a finding of the fuzzer
    """A promise that an input broke; the text is the same for the same cause."""


def run_trial(data: bytes, seed: str) -> str:
    """Try one input in a world with a body of somebody else; what became of it, in a word.

    Raises:
        Failure: A promise is broken.
    """
    rng = random.Random(seed)  # noqa: S311  # reproducible on purpose
    world = _WORLDS.pop() if _WORLDS else _new_world()
    client, _ = world
    is_untouched = False
    try:
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("error", RuntimeWarning)
            outcome, is_untouched = _run(data, rng, world)
            return outcome
    finally:
        if is_untouched:
            _WORLDS.append(world)
        else:
            pybullet.disconnect(client)


_WORLDS: list[tuple[int, int]] = []
"""A client and its user's ball that no input has touched; making them takes as long as a trial."""


def _run(data: bytes, rng: random.Random, world: tuple[int, int]) -> tuple[str, bool]:
    """What became of it, and whether the world was never touched."""
    client, user = world
    place = rng.choice(([0.0, 0.0, 3.0], [30.0, 0.0, -4.85]))
    pybullet.resetBasePositionAndOrientation(user, place, [0.0, 0.0, 0.0, 1.0], client)
    options = gb.LoadOptions(
        decomposition_seconds=0.0,
        visuals=rng.choice(("mesh", "mesh", "collider", "none")),
    )
    before = _world(client)
    usable = guarded("check", lambda: gb.check(data, options=options).is_usable)
    scene = guarded("load", lambda: gb.load_gltf(data, client, options=options))
    if isinstance(usable, gb.GltfBulletError):
        raise Failure(f"check raised {type(usable).__name__}")
    if usable != (not isinstance(scene, gb.GltfBulletError)):
        why = "loads" if not usable else f"{type(scene).__name__}: {str(scene)[:60]}"
        raise Failure(f"check says usable={usable}, load_gltf: {why}")
    if isinstance(scene, gb.GltfBulletError):
        if _world(client) != before:
            raise Failure(f"the world is another after {type(scene).__name__}")
        return type(scene).__name__, True
    result = _use(scene, client, user, rng)
    guarded("remove", scene.remove)
    if pybullet.getNumBodies(client) != before[0] or pybullet.getNumConstraints(client):
        raise Failure("bodies or constraints are left after remove()")
    return result, False


def _use(scene: gb.Scene, client: int, user: int, rng: random.Random) -> str:
    pybullet.setTimeStep(rng.choice(RATES), physicsClientId=client)
    saved = guarded("save_state", scene.save_state) if rng.random() < 0.1 else None
    for _ in range(STEPS):
        name = rng.choice(_CALLS) if rng.random() < _AMISS else "step"
        outcome = guarded(name, getattr(scene, name))
        # Told apart from the scene: what happens to the user's body is worse.
        if not _is_finite(pybullet.getBasePositionAndOrientation(user, client)) or not _is_finite(
            pybullet.getBaseVelocity(user, client)
        ):
            raise Failure("the user's body is no longer finite")
        if isinstance(outcome, gb.GltfBulletError):
            return f"{name}: {type(outcome).__name__}"
    matrices = guarded("node_matrices", lambda: scene.node_matrices)
    if not np.isfinite(matrices).all():
        raise Failure("a node is no longer finite")
    for body in scene.bodies.values():
        if not np.isfinite([*body.linear_velocity, *body.angular_velocity]).all():
            raise Failure("a body's velocity is no longer finite")
    for joint in scene.joints.values():
        for dof in joint.degrees_of_freedom:
            if not np.isfinite([*np.ravel(dof.position), *np.ravel(dof.velocity)]).all():
                raise Failure("a joint's coordinate is no longer finite")
    if saved is not None:
        outcome = guarded("restore_state", lambda: scene.restore_state(saved))
        if isinstance(outcome, gb.GltfBulletError):
            return f"restore: {type(outcome).__name__}"
        if not np.isfinite(scene.node_matrices).all():
            raise Failure("a node is not finite after restore_state")
    return "runs"


def guarded(what: str, call: Any) -> Any:
    """The result, or the typed error; everything else is a failure named by where it came from."""
    try:
        return call()
    except gb.GltfBulletError as error:
        return error
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "gltf_bullet" in frame.filename] or frames
        place = ours[-1].filename.rpartition("gltf_bullet/")[2]
        raise Failure(
            f"{what}: {type(error).__name__} in {place}:{ours[-1].lineno} {str(error)[:80]!r}"
        ) from error


def _new_world() -> tuple[int, int]:
    """A plane and a ball of somebody else."""
    client = pybullet.connect(pybullet.DIRECT)
    plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client)
    pybullet.createMultiBody(0.0, plane, basePosition=[0.0, 0.0, -5.0], physicsClientId=client)
    ball = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1, physicsClientId=client)
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    return client, pybullet.createMultiBody(1.0, ball, physicsClientId=client)


def _world(client: int) -> tuple[Any, ...]:
    bodies = [
        pybullet.getBodyUniqueId(k, physicsClientId=client)
        for k in range(pybullet.getNumBodies(client))
    ]
    return (
        len(bodies),
        pybullet.getNumConstraints(client),
        tuple(pybullet.getBasePositionAndOrientation(body, client) for body in bodies),
        tuple(pybullet.getBaseVelocity(body, client) for body in bodies),
        tuple(sorted(pybullet.getPhysicsEngineParameters(client).items())),
    )


def _is_finite(parts: tuple[tuple[float, ...], tuple[float, ...]]) -> bool:
    return all(math.isfinite(value) for part in parts for value in part)
