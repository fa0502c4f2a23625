"""Whatever stands in a file, reading it reports issues or raises AssetError, nothing else.

A rich asset gets random members replaced, removed or repeated, or its bytes changed; then
everything that this room can read is read.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import AssetError
from gltf_bullet.gltf import (
    Document,
    ReadLimits,
    joints_exist,
    morphed_positions,
    read_accessor,
    read_animations,
    read_document,
    read_mesh,
    read_skin,
    skinned_positions,
)
from gltf_bullet.gltf.writing import encode_glb, readable_json, self_contained
from gltf_bullet.scene import AnimationSampler
from tools.gltf_builder import GltfBuilder

LIMITS = ReadLimits(max_buffer_bytes=10**6, max_accessor_values=10**5)
JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 255, 4294967295, 2**53, 2**63, 10**30, -(10**400), 10**400,
    0.5, -0.0, 1.0, 1e308, -1e308, 5e-324, "", "x", "0", "2.0", "SCALAR", "MAT4", "STEP",
    "CUBICSPLINE", "/nodes/0/rotation", "/nodes/99999999999999999999/scale", "data:,",
    "data:;base64,AAAA", "../x", "\0", "\ud800", "é" * 70, [], {}, [[]], [{}], {"": {}}, [None],
    [0, 0], [0, 0, 0],
    [0, 0, 0, 0], ["0", "0", "0"], [1e308] * 16, [0] * 16, [10**400] * 3, [True] * 4,
    {"extensions": []}, {"bufferView": 0}, {"POSITION": 0}, {"node": 0, "path": "weights"},
    [0, 1, 2, 3, 4, 5], [[[[[[[[]]]]]]]], {"a": {"b": {"c": {"d": None}}}},
]  # fmt: skip


def rich_asset() -> dict[str, Any]:
    """One of everything that the room reads."""
    rng = np.random.default_rng(0)
    builder = GltfBuilder()
    points = rng.random((6, 3))
    mesh = builder.mesh(
        points,
        [[0, 1, 2], [3, 4, 5]],
        name="body",
        weights=[0.5, 0.25],
        material=builder.material("red"),
        attributes={
            "NORMAL": rng.random((6, 3)),
            "TEXCOORD_0": rng.random((6, 2)),
            "COLOR_0": np.full((6, 4), 9, dtype=np.uint8),
            "JOINTS_0": rng.integers(0, 2, (6, 4)),
            "WEIGHTS_0": rng.random((6, 4)),
        },
        targets=rng.random((2, 6, 3)),
    )
    strip = builder.mesh(points, mode=5)
    root = builder.node("root", matrix=np.eye(4).ravel(), extensions={"VENDOR": {"a": [1]}})
    child = builder.node(
        "child",
        parent=root,
        translation=(1, 2, 3),
        rotation=(0, 0, 0, 1),
        mesh=mesh,
        weights=[1, 0],
    )
    builder.node("leaf", parent=child, scale=(1, 2, 3), mesh=strip, skin=0)
    builder.skin([0, 1], np.stack([np.eye(4)] * 2), skeleton=0)
    turns = [[0, 0, 0, 1], [0, 1, 0, 0]]
    builder.animation(
        "all",
        [
            (0, "translation", [0, 1], [[0, 0, 0], [1, 1, 1]]),
            (0, "rotation", [0, 1], turns),
            (1, "rotation", [0, 1], np.repeat(turns, 3, axis=0), "CUBICSPLINE"),
            (1, "scale", [0, 1], [[1, 1, 1], [2, 2, 2]], "STEP"),
            (1, "weights", [0, 1], [0, 0, 1, 1]),
            ("/materials/0/x", "pointer", [0, 1], [0, 1]),
            ("/nodes/2/scale", "pointer", [0, 1], [[1, 1, 1], [2, 2, 2]]),
        ],
    )
    builder.root_extension("VENDOR", {"b": {}})
    result = builder.json()
    places = builder.buffer_view(b"")
    assert places == len(result["bufferViews"])
    result["bufferViews"] += [
        {"buffer": 0, "byteLength": 64, "byteStride": 8},
        {"buffer": 0, "byteLength": 8, "extensions": {"EXT_meshopt_compression": {"buffer": 1}}},
    ]
    sparse = {
        "count": 1,
        "indices": {"bufferView": places, "componentType": 5121, "byteOffset": 3},
        "values": {"bufferView": places, "byteOffset": 4},
    }
    result["accessors"] += [
        {"bufferView": places, "componentType": 5126, "type": "SCALAR", "count": 4},
        {"componentType": 5123, "type": "MAT3", "count": 4, "sparse": sparse, "normalized": True},
        {"bufferView": places + 1, "componentType": 5121, "type": "SCALAR", "count": 4},
    ]
    result["buffers"].append({"byteLength": 3, "uri": "data:,abc", "name": "second"})
    result["images"] = [{"uri": "x.png"}, {"uri": "data:image/png;base64,AA"}]
    result["cameras"] = [{"type": "perspective"}]
    result["nodes"][0]["camera"] = 0
    draco = {"bufferView": 0, "attributes": {"POSITION": 0}}
    result["meshes"].append(
        {
            "primitives": [
                {
                    "attributes": {"POSITION": len(result["accessors"]) - 2},
                    "extensions": {"KHR_draco_mesh_compression": draco},
                }
            ]
        }
    )
    result["extensionsRequired"] = ["VENDOR"]
    return result


ASSET = rich_asset()


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all members and items below ``value``."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places_in(item, (*path, key))


PLACES = list(places_in(ASSET))
ONE_OF_EACH_KIND = list(
    {tuple("*" if isinstance(k, int) else k for k in path): path for path in PLACES}.values()
)
"""The last place of each kind: ``/accessors/*/count`` once, not once per accessor."""


def changed(root: Any, path: tuple[Any, ...], junk: Any) -> None:
    """Put ``junk`` at a path, or take away what is there; other changes may have removed it."""
    owner = root
    for key in path[:-1]:
        owner = owner[key] if has(owner, key) else None
    if isinstance(owner, dict) and junk == "REMOVE":
        owner.pop(path[-1], None)
    elif has(owner, path[-1]):
        owner[path[-1]] = copy.deepcopy(junk)


def has(owner: Any, key: Any) -> bool:
    if isinstance(owner, list):
        return isinstance(key, int) and key < len(owner)
    return isinstance(owner, dict) and key in owner


def read_everything(data: bytes) -> None:
    """Use all that this room offers; AssetError is the only exception that may come out."""
    diagnostics = Diagnostics()
    with contextlib.suppress(AssetError):
        document = read_document(data, diagnostics, limits=LIMITS)
        read_content(document, diagnostics)
        for issue in diagnostics:
            assert len(issue.located(document.path)) < 1000
        rewrite(document)


def read_content(document: Document, diagnostics: Diagnostics) -> None:
    for index in range(document.count("accessors") + 1):
        read_accessor(document, index, diagnostics)
    skins = [read_skin(document, i, diagnostics) for i in range(document.count("skins"))]
    world = document.tree.compose(document.tree.local_matrices(), np.eye(4))
    for index in range(document.count("meshes")):
        mesh = read_mesh(document, index, diagnostics)
        for primitive in mesh.primitives if mesh else ():
            assert np.isfinite(primitive.positions).all()
            assert (primitive.triangles < len(primitive.positions)).all()
            points = morphed_positions(primitive, mesh.weights if mesh else ())
            for skin in filter(None, skins):
                joints_exist(primitive, skin, diagnostics)
                if primitive.joints is not None and primitive.joint_weights is not None:
                    matrices = skin.joint_matrices(world)
                    skinned_positions(points, primitive.joints, primitive.joint_weights, matrices)
    for animation in read_animations(document, diagnostics):
        sampler = AnimationSampler(animation.tracks)
        for time in (0.0, 0.3, animation.duration):
            arrays = [np.zeros((len(document.tree), width)) for width in (3, 4, 3)]
            sampler.sample_into(time, *arrays)
            assert all(np.isfinite(array).all() for array in arrays)
            sampler.sample_weights(time)
            sampler.sample_pointers(time)


def rewrite(document: Document) -> None:
    root, buffers = self_contained(document, Diagnostics())
    encode_glb(root, buffers)
    readable_json(root)


@pytest.fixture(autouse=True)
def numpy_must_not_warn() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with np.errstate(all="warn", under="ignore"):
            yield


def encoded(root: Any) -> bytes:
    return json.dumps(root).encode()


def test_the_rich_asset_itself_is_almost_sound() -> None:
    """Else the changes below would never get deep."""
    sink = Diagnostics()
    document = read_document(encoded(ASSET), sink)
    read_content(document, sink)
    found = sorted(issue.code for issue in sink)
    assert len(found) < 12, found
    assert len(read_animations(document, sink)[0].tracks) == 7


@pytest.mark.parametrize(
    "junk",
    [
        "REMOVE", None, 10**400, [[]],
        *(pytest.param(junk, marks=pytest.mark.slow) for junk in (-1, "x", [], {})),
    ],
    ids=lambda junk: repr(junk)[:9],
)  # fmt: skip
def test_each_member_may_be_junk(junk: Any) -> None:
    for path in ONE_OF_EACH_KIND:
        root = copy.deepcopy(ASSET)
        changed(root, path, junk)
        read_everything(encoded(root))


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(JUNK)), min_size=1, max_size=4))
def test_several_members_may_be_junk(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    root = copy.deepcopy(ASSET)
    for path, junk in changes:
        changed(root, path, junk)
    read_everything(encoded(root))


@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_the_bytes_of_buffers_may_be_junk(data: st.DataObject) -> None:
    """NaN, infinities, wild indices and times are all in reach of random bytes."""
    root = copy.deepcopy(ASSET)
    buffer = root["buffers"][0]
    content = bytearray(base64.b64decode(buffer["uri"].partition(",")[2]))
    patterns = [
        b"\xff\xff\xff\xff",
        b"\0\0\x80\x7f",
        b"\0\0\xc0\x7f",
        b"\xff\xff\x7f\x7f",
        bytes(4),
    ]
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(content) // 4 - 1)) * 4
        content[place : place + 4] = data.draw(
            st.sampled_from(patterns) | st.binary(min_size=4, max_size=4)
        )
    buffer["uri"] = "data:;base64," + base64.b64encode(content).decode()
    read_everything(encoded(root))


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_the_text_itself_may_be_junk(data: st.DataObject) -> None:
    text = bytearray(encoded(ASSET))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place] = data.draw(st.sampled_from(list(b'0123456789-+.eE"[]{},:\\ntf \0\xff')))
    read_everything(bytes(text))


def test_deep_values_are_reported_without_recursion() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    for path in PLACES[::7]:
        root = copy.deepcopy(ASSET)
        changed(root, path, deep)
        read_everything(encoded(root))
