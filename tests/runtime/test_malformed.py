"""Malformed input through the front door: an AssetError that says where, and an untouched world."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gltf_bullet as gb

KHR = "KHR_physics_rigid_bodies"
Json = dict[str, Any]

GOOD: Json = {
    "asset": {"version": "2.0"},
    "extensionsUsed": [KHR, "KHR_implicit_shapes"],
    "extensions": {
        "KHR_implicit_shapes": {"shapes": [{"type": "box", "box": {"size": [1, 1, 1]}}]},
        KHR: {
            "physicsMaterials": [{"dynamicFriction": 0.5}],
            "collisionFilters": [{"collisionSystems": ["a"]}],
            "physicsJoints": [{"limits": [{"linearAxes": [0, 1, 2], "min": 0, "max": 0}]}],
        },
    },
    "scene": 0,
    "scenes": [{"nodes": [0, 1]}],
    "nodes": [
        {
            "name": "Body",
            "translation": [0, 1, 0],
            "rotation": [0, 0, 0, 1],
            "scale": [1, 1, 1],
            "children": [2],
            "extensions": {
                KHR: {
                    "motion": {"mass": 1.0, "linearVelocity": [0, 0, 0]},
                    "collider": {
                        "geometry": {"shape": 0}, "physicsMaterial": 0, "collisionFilter": 0,
                    },
                }
            },
        },
        {
            "name": "Mesh",
            "extensions": {KHR: {"motion": {}, "collider": {"geometry": {"mesh": 0}}}},
        },
        {"extensions": {KHR: {"joint": {"connectedNode": 1, "joint": 0}}}},
    ],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
    "accessors": [
        {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
        {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
    ],
    "bufferViews": [
        {"buffer": 0, "byteOffset": 0, "byteLength": 48},
        {"buffer": 0, "byteOffset": 48, "byteLength": 24},
    ],
    "buffers": [
        {
            "byteLength": 72,
            "uri": "data:application/octet-stream;base64,"
            "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/"
            "AAACAAEAAAABAAMAAQACAAMAAAADAAIA",
        }
    ],
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def somebody_is_there(shared_client: int) -> None:
    pybullet.createMultiBody(1.0, physicsClientId=shared_client)


def test_the_good_file_loads(shared_client: int) -> None:
    scene = gb.load_gltf(json.dumps(GOOD).encode(), shared_client)
    scene.step(2)
    scene.remove()
    assert pybullet.getNumBodies(shared_client) == 1


def at(*path: str | int, value: object) -> Callable[[Json], None]:
    """A change of the file: sets the value at a path."""

    def change(root: Json) -> None:
        owner: Any = root
        for key in path[:-1]:
            owner = owner[key]
        owner[path[-1]] = value

    return change


MOTION = ("nodes", 0, "extensions", KHR, "motion")
COLLIDER = ("nodes", 0, "extensions", KHR, "collider")
SHAPE = ("extensions", "KHR_implicit_shapes", "shapes", 0)

BAD: list[tuple[Callable[[Json], None], str]] = [
    # wrong types
    (at("nodes", value={}), "/nodes"),
    (at("nodes", 1, value="node"), "/nodes/1"),
    (at("nodes", 0, "translation", value="high"), "/nodes/0/translation"),
    (at("nodes", 0, "children", value=2), "/nodes/0/children"),
    (at(*MOTION, "mass", value=-1), f"/nodes/0/extensions/{KHR}/motion/mass"),
    (at("meshes", 0, "primitives", value=None), "/meshes/0/primitives"),
    # numbers that JSON should not hold
    (at(*MOTION, "mass", value=float("nan")), ""),
    (at("nodes", 0, "translation", value=[0, float("inf"), 0]), ""),
    (at("nodes", 0, "rotation", value=[0, 0, 0, 1e999]), ""),
    # out of range
    (at("nodes", 0, "children", value=[99]), "/nodes/0/children/0"),
    (at("meshes", 0, "primitives", 0, "attributes", "POSITION", value=9), "/meshes/0/primitives/0"),
    (at("accessors", 0, "bufferView", value=9), "/accessors/0/bufferView"),
    (at("accessors", 0, "count", value=4000), "/accessors/0"),
    (at("accessors", 0, "componentType", value=1), "/accessors/0/componentType"),
    (at("bufferViews", 1, "byteLength", value=10**12), "/bufferViews/1"),
    (at("bufferViews", 0, "buffer", value=3), "/bufferViews/0/buffer"),
    # cycles
    (at("nodes", 2, "children", value=[0]), "/nodes"),
    (at("nodes", 0, "children", value=[0]), "/nodes"),
    (at("nodes", 1, "children", value=[2]), "/nodes"),
    # missing and short buffers
    (at("buffers", 0, "uri", value="missing.bin"), "/buffers/0"),
    (at("buffers", 0, "uri", value="../../etc/passwd"), "/buffers/0"),
    (at("buffers", 0, "uri", value="data:application/octet-stream;base64,AAAA"), "/buffers/0"),
    (at("buffers", value=[{"byteLength": 72}]), "/buffers/0"),
    # versions and extensions
    (at("asset", value={"version": "3.0"}), "/asset/version"),
    (at("extensionsRequired", value=["VENDOR_magic"]), "/extensionsRequired"),
]


@pytest.mark.parametrize(("change", "pointer"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_content_is_an_asset_error_with_a_pointer(
    shared_client: int, tmp_path: Path, change: Callable[[Json], None], pointer: str
) -> None:
    root = copy.deepcopy(GOOD)
    change(root)
    path = tmp_path / "bad.gltf"
    path.write_text(json.dumps(root))
    before = pybullet.getNumBodies(shared_client)
    with pytest.raises(gb.AssetError) as raised:
        gb.load_gltf(path, shared_client)
    error = raised.value
    assert error.path == str(path)
    assert error.issues[0].severity is gb.Severity.ERROR
    assert any(pointer in issue.pointer for issue in error.issues if issue.is_error), error
    assert str(path) in str(error)
    assert pybullet.getNumBodies(shared_client) == before


MENDED: list[tuple[Callable[[Json], None], str]] = [
    (at("nodes", 0, "extensions", KHR, value=[]), f"/nodes/0/extensions/{KHR}"),
    (at(*MOTION, value=7), f"/nodes/0/extensions/{KHR}/motion"),
    (at(*MOTION, "mass", value="heavy"), f"/nodes/0/extensions/{KHR}/motion/mass"),
    (at(*MOTION, "linearVelocity", value=[1, 2]), "/motion/linearVelocity"),
    (at(*SHAPE, "type", value=7), "/extensions/KHR_implicit_shapes/shapes/0"),
    (at(*SHAPE, "box", "size", value=[1, -1, 1]), "/shapes/0/box/size"),
    (at("scene", value=5), "/scene"),
    (at("scenes", 0, "nodes", value=[-1]), "/scenes/0/nodes"),
    (at(*COLLIDER, "geometry", value={"shape": 4}), "/collider/geometry/shape"),
    (at(*COLLIDER, "geometry", value={"mesh": 4}), "/collider/geometry/mesh"),
    (at(*COLLIDER, "physicsMaterial", value=3), "/collider/physicsMaterial"),
    (at(*COLLIDER, "collisionFilter", value=1.5), "/collider/collisionFilter"),
    (at("nodes", 2, "extensions", KHR, "joint", "connectedNode", value=44), "/joint/connectedNode"),
    (at("nodes", 2, "extensions", KHR, "joint", "joint", value=2), "/joint/joint"),
]


@pytest.mark.parametrize(("change", "pointer"), MENDED, ids=[str(k) for k in range(len(MENDED))])
def test_what_is_wrong_and_readable_is_a_warning_with_a_pointer(
    shared_client: int, change: Callable[[Json], None], pointer: str
) -> None:
    root = copy.deepcopy(GOOD)
    change(root)
    scene = gb.load_gltf(json.dumps(root).encode(), shared_client)
    warned = [i for i in scene.asset.issues if not i.refuses]
    assert any(pointer in issue.pointer for issue in warned), scene.asset.issues
    scene.step(2)
    assert np.isfinite(scene.node_matrices).all()
    scene.remove()
    assert pybullet.getNumBodies(shared_client) == 1


@pytest.mark.parametrize("size", [1e100, 1e300])
def test_a_body_too_large_to_have_an_inertia_is_refused(
    shared_client: int, tmp_path: Path, size: float
) -> None:
    root = copy.deepcopy(GOOD)
    at(*SHAPE, "box", "size", value=[size] * 3)(root)
    path = tmp_path / "huge.gltf"
    path.write_text(json.dumps(root))
    before = pybullet.getNumBodies(shared_client)
    with np.errstate(all="ignore"), pytest.raises(gb.GltfBulletError):
        gb.load_gltf(path, shared_client)
    assert pybullet.getNumBodies(shared_client) == before


def glb_of(root: Json) -> bytes:
    text = json.dumps(root).encode()
    text += b" " * (-len(text) % 4)
    chunk = len(text).to_bytes(4, "little") + b"JSON" + text
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunk)).to_bytes(4, "little") + chunk


@pytest.mark.parametrize("kept", [0, 1, 4, 11, 12, 15, 20, 40, 400, -1])
def test_a_truncated_glb_is_an_asset_error(shared_client: int, kept: int) -> None:
    whole = glb_of(GOOD)
    gb.load_gltf(whole, shared_client).remove()
    with pytest.raises(gb.AssetError):
        gb.load_gltf(whole[:kept], shared_client)
    assert pybullet.getNumBodies(shared_client) == 1


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"[" * 100000, b'{"asset": {"version": "2.0"}'],
)
def test_what_is_no_gltf_is_an_asset_error(shared_client: int, data: bytes) -> None:
    with pytest.raises(gb.AssetError):
        gb.load_gltf(data, shared_client)


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner,
                                                                max_size=2),
    max_leaves=4,
)  # fmt: skip


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    for key, item in entries:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


PLACES = sorted(places(GOOD), key=str)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), junk), min_size=1, max_size=2))
def test_junk_anywhere_loads_or_is_an_asset_error(
    shared_client: int, changes: list[tuple[tuple[str | int, ...], object]]
) -> None:
    root = copy.deepcopy(GOOD)
    for path, value in changes:
        # The first change may have taken the place of the second away.
        with contextlib.suppress(KeyError, TypeError, IndexError):
            at(*path, value=value)(root)
    before = pybullet.getNumBodies(shared_client)
    try:
        scene = gb.load_gltf(json.dumps(root).encode(), shared_client)
    except gb.AssetError:
        pass
    else:
        scene.step()
        scene.remove()
    assert pybullet.getNumBodies(shared_client) == before
