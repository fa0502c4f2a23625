"""``scene.set`` is all or nothing: it acts, or it raises a typed error and nothing has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.bullet.world import created_world
from gltf_bullet.errors import EngineError
from tests.runtime.number_files import FILES

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
KHR = "KHR_physics_rigid_bodies"
MOTION = f"/nodes/0/extensions/{KHR}/motion"
JOINT = f"/extensions/{KHR}/physicsJoints/0"
SHAPES = "/extensions/KHR_implicit_shapes/shapes"

POINTERS = [
    f"{MOTION}/{key}"
    for key in (
        "mass", "centerOfMass", "inertiaDiagonal", "inertiaOrientation", "linearVelocity",
        "angularVelocity", "gravityFactor", "isKinematic", "type", "",
    )
] + [
    f"{JOINT}/limits/2/min", f"{JOINT}/limits/2/stiffness", f"{JOINT}/drives/0/positionTarget",
    f"{JOINT}/drives/0/maxForce", f"{JOINT}/drives/0/mode", f"{JOINT}/limits/9/min",
    f"/extensions/{KHR}/physicsMaterials/0/restitution",
    f"/extensions/{KHR}/physicsMaterials/0/dynamicFriction",
    f"{SHAPES}/0/box/size", f"{SHAPES}/1/sphere/radius", f"{SHAPES}/3/cylinder/radiusTop",
    f"{SHAPES}/4/plane/sizeX", f"/nodes/1/extensions/{KHR}/joint/enableCollision",
    "/nodes/0/translation", "/nodes/0/rotation", "/nodes/0/scale", "/nodes/0/weights",
    "/nodes/01/translation", "/nodes/٣/translation", "/nodes/²/scale", "/nodes/-1/scale",
    "/nodes/99999999999999999999/scale", "/nodes/" + "9" * 5000 + "/scale", "/nodes/0/mesh",
    "/nodes/0", "/nodes.length", "", "/", "nodes/0/scale", "/nodes/0/translation/0", "\0", "~",
    "/materials/0/alphaCutoff", "/asset/version",
]  # fmt: skip
VALUES: list[Any] = [
    0, 1, 2.5, -1, 1e-300, 1e-9, 1e9, 1e12, 1e104, 1e300, float("nan"), float("inf"), 10**400,
    None, True, "1", b"1", [], {}, [1, 2], [1, 2, 3], [1, 2, 3, 4], [0, 0, 0], [0, 0, 0, 0],
    [1e300] * 3, [1e300] * 4, ["1", "2", "3"], [None] * 3, [10**400] * 3, [True] * 3, [[1, 2, 3]],
    np.float32(2.0), np.int64(2), np.array([1.0, 2.0, 3.0]), np.array(["a", "b", "c"]),
    np.array([1j, 2j, 3j]), object(), 1j, [1e9, 1e-9, 1], range(3), "abc", [float("nan")] * 3,
]  # fmt: skip


pytestmark = pytest.mark.world(gravity=(0.0, 0.0, 0.0))


@pytest.fixture
def scene(client: int) -> Iterator[gb.Scene]:
    loaded = gb.load_gltf(json.dumps(FILES["khr"]).encode(), client)
    loaded.step(3)
    yield loaded
    loaded.remove()
    assert pybullet.getNumBodies(client) == 0
    assert pybullet.getNumConstraints(client) == 0


def moment(scene: gb.Scene, client: int) -> tuple[Any, ...]:
    """Everything that a failed change must leave alone."""
    bodies = [
        pybullet.getBodyUniqueId(k, physicsClientId=client)
        for k in range(pybullet.getNumBodies(client))
    ]
    return (
        bodies,
        [pybullet.getBasePositionAndOrientation(body, client) for body in bodies],
        [pybullet.getBaseVelocity(body, client) for body in bodies],
        [pybullet.getDynamicsInfo(body, -1, client)[:5] for body in bodies],
        scene.node_matrices.tobytes(),
        scene.get(f"{JOINT}/drives/0/positionTarget"),
        scene.get(f"{MOTION}/mass"),
    )


@pytest.mark.parametrize("pointer", POINTERS, ids=lambda pointer: ascii(pointer)[-40:])
def test_any_value_at_any_pointer_acts_or_changes_nothing(
    pointer: str, scene: gb.Scene, client: int
) -> None:
    for value in VALUES:
        before = moment(scene, client)
        try:
            scene.set(pointer, value)
        except (KeyError, TypeError, ValueError, gb.GltfBulletError):
            assert moment(scene, client) == before, value
            continue
        scene.get(pointer)
        scene.step()
        assert np.isfinite(scene.node_matrices).all(), value


@pytest.mark.parametrize("pointer", [None, 3, b"/nodes/0/scale", ["/nodes"], object()])
def test_what_is_no_text_is_no_pointer(pointer: Any, scene: gb.Scene) -> None:
    with pytest.raises(TypeError, match="JSON pointer"):
        scene.set(pointer, 1)
    with pytest.raises(TypeError, match="JSON pointer"):
        scene.get(pointer)


@pytest.mark.parametrize("place", ["free", "joints", "late"])
@pytest.mark.parametrize("error", [EngineError("no"), KeyboardInterrupt()], ids=["no", "ctrl-c"])
def test_a_change_that_the_engine_refuses_leaves_the_scene_as_it_was(
    place: str,
    error: BaseException,
    scene: gb.Scene,
    client: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = moment(scene, client)

    def refuse(*_: object, **__: object) -> None:
        raise error

    module, name = {
        "free": (created_world, "create_free_bodies"),
        "joints": (created_world, "create_articulations"),
        "late": (created_world, "LinkContacts"),
    }[place]
    monkeypatch.setattr(module, name, refuse)
    with pytest.raises(type(error)):
        scene.set(f"{SHAPES}/1/sphere/radius", 0.7)
    monkeypatch.undo()
    assert moment(scene, client) == before
    assert scene.get(f"{SHAPES}/1/sphere/radius") == 0.3
    scene.step(5)
    scene.set(f"{SHAPES}/1/sphere/radius", 0.7)
    assert scene.get(f"{SHAPES}/1/sphere/radius") == 0.7
    scene.step(5)
    assert np.isfinite(scene.node_matrices).all()


@pytest.mark.parametrize("error", [EngineError("no"), KeyboardInterrupt()], ids=["no", "ctrl-c"])
def test_a_load_that_breaks_off_leaves_the_world_as_it_was(
    error: BaseException, client: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pybullet.getNumBodies(client)

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(created_world, "LinkContacts", refuse)
    with pytest.raises(type(error)):
        gb.load_gltf(json.dumps(FILES["khr"]).encode(), client)
    assert pybullet.getNumBodies(client) == before


@pytest.mark.parametrize("what", ["velocity", "spin", "place"])
def test_a_free_body_that_is_set_to_no_number_is_named(what: str) -> None:
    """PyBullet takes it and steps on; after that it may find no contacts in that world."""
    with headless_world() as client:
        scene = gb.load_gltf(ASSETS / "falling_box.gltf", client)
        scene.step()
        crate, nan = scene.bodies["Crate"], float("nan")
        if what == "place":
            place = [nan, 0, 0], [0, 0, 0, 1]
            pybullet.resetBasePositionAndOrientation(crate.body_id, *place, client)
        else:
            speeds = ([nan, 0, 0], [0, 0, 0]) if what == "velocity" else ([0, 0, 0], [nan, 0, 0])
            pybullet.resetBaseVelocity(crate.body_id, *speeds, physicsClientId=client)
        scene.step(2)
        assert not np.isfinite(scene.node_matrices[crate.node]).all()
        scene.step(2)
        assert not np.isfinite(scene.world_from_node(crate.node)).all()
        [issue] = [issue for issue in scene.issues if issue.code == "BODY_NOT_FINITE"]
        assert issue.pointer == f"/nodes/{crate.node}"
