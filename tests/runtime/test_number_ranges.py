"""Every number of every schema, from 1e-300 to 1e300: a typed error, or a scene that stays finite.

The places are found in the files themselves: each number of a scene that says everything, in every
dialect, takes every value in turn.
"""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.gltf.fields import (
    NUMBER_AS_UNLIMITED,
    NUMBER_LIMITED,
    RANGE_MENDED,
    Reader,
)
from gltf_bullet.number_ranges import (
    DRIVE_FORCE,
    EXTENT,
    GENERAL,
    GRAVITY,
    JOINT_BOUND,
    MASS,
    STIFFNESS,
    NumberRange,
    carried,
    range_of,
)
from tests.runtime.number_files import FILES

ENDS: list[Any] = [1e-300, 1e12, 1e300, -1, "1"]
"""One of each kind: too small to count, an end of what is carried, far beyond, no number."""
BETWEEN: list[Any] = [
    1e-38, 1e-9, 1e9, 1e19, 1e38, 1e104, 0, -1e-9, -1e9, -1e300, None, True, [], 10**400, 2**63,
]  # fmt: skip


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        if isinstance(item, (dict, list)):
            yield from numbers(item, (*path, key))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield (*path, key)


def places(root: Any) -> list[tuple[Any, ...]]:
    """One place of each kind: that of the last node that has it."""
    kinds = {
        tuple("*" if isinstance(key, int) else key for key in path):
        path
        for path in numbers(root)
    }  # fmt: skip
    return list(kinds.values())


CASES = [
    (name, place)
    for name, root in FILES.items()
    for place in places(root)
    # What is not of a dialect is the same in all files, and read by the same code.
    if name == "khr" or {"nodes", "extensions"} & set(place)
]


@pytest.mark.parametrize(
    "values",
    [pytest.param(ENDS, id="ends"), pytest.param(BETWEEN, id="between", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    ("name", "place"), CASES, ids=[f"{name}:{'/'.join(map(str, place))}" for name, place in CASES]
)
def test_any_value_of_a_number_is_refused_or_simulated(
    name: str, place: tuple[Any, ...], values: list[Any], shared_client: int
) -> None:
    options = gb.LoadOptions(decomposition_seconds=0.0)
    for value in values:
        root = copy.deepcopy(FILES[name])
        owner = root
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = value
        data = json.dumps(root).encode()
        pybullet.resetSimulation(shared_client)
        pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=shared_client)
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("error", RuntimeWarning)
            usable = gb.check(data, options=options).is_usable
            try:
                scene = gb.load_gltf(data, shared_client, options=options)
            except gb.AssetError:
                assert not usable, (place, value)
                assert pybullet.getNumBodies(shared_client) == 0
                continue
            assert usable, (place, value)
            scene.step(4)
            assert np.isfinite(scene.node_matrices).all(), (place, value)
            scene.remove()


@pytest.mark.parametrize(
    ("allowed", "value", "taken"),
    [
        (MASS, 1e-300, 1e-9), (MASS, 1e30, 1e12), (MASS, 2.0, 2.0), (MASS, 0.0, 0.0),
        (DRIVE_FORCE, 3.4e38, math.inf), (JOINT_BOUND, -1e30, -math.inf), (GRAVITY, -1e30, -1e6),
        (EXTENT, 1e104, None), (range_of("translation"), 1e12, None), (GENERAL, 1e39, None),
        (range_of("other"), 1e-39, 0.0), (GENERAL, 1e38, 1e38), (STIFFNESS, math.nan, None),
    ],
)  # fmt: skip
def test_the_table_says_what_becomes_of_a_number(
    allowed: NumberRange, value: float, taken: float | None
) -> None:
    assert carried(allowed, value) == taken


def read_as(allowed: NumberRange, key: str, diagnostics: Diagnostics) -> float:
    return Reader({key: 1e30}, ROOT, diagnostics).number(key, default=1.0, allowed=allowed)


def test_what_is_limited_is_named(diagnostics: Diagnostics) -> None:
    assert read_as(MASS, "mass", diagnostics) == 1e12
    issue = diagnostics.take(NUMBER_LIMITED)
    assert issue.message == (
        "mass is 1e+30; the engine carries 1e-09 to 1e+12 in magnitude; 1e+12 is used"
    )


def test_what_counts_as_unlimited_is_named(diagnostics: Diagnostics) -> None:
    assert read_as(DRIVE_FORCE, "maxForce", diagnostics) == math.inf
    assert diagnostics.take(NUMBER_AS_UNLIMITED).pointer == "/maxForce"


def test_a_size_that_counts_as_zero_is_no_size(diagnostics: Diagnostics) -> None:
    sizes = Reader({"size": [1.0, 1e-300, 1.0], "radius": 1e-300}, ROOT, diagnostics)
    assert sizes.numbers("size") == (1.0, 0.0, 1.0)
    assert sizes.number("radius", default=1.0, above=0.0) == 1
    assert diagnostics.take(RANGE_MENDED).pointer == "/radius"


def one_body(path: Path, motion: dict[str, Any], node: dict[str, Any], size: float) -> Path:
    khr = "KHR_physics_rigid_bodies"
    collider = {"geometry": {"shape": 0}}
    root = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [khr, "KHR_implicit_shapes"],
        "nodes": [node | {"extensions": {khr: {"motion": motion, "collider": collider}}}],
        "scenes": [{"nodes": [0]}],
        "extensions": {
            "KHR_implicit_shapes": {"shapes": [{"type": "sphere", "sphere": {"radius": size}}]}
        },
    }
    path.write_text(json.dumps(root))
    return path


@pytest.mark.parametrize(
    ("motion", "node", "size", "code"),
    [
        ({"mass": 1, "inertiaDiagonal": [1, 1, 1e-12]}, {}, 1.0, "INERTIA_LIMITED"),
        ({"mass": 1, "inertiaDiagonal": [1e-14] * 3}, {}, 1.0, "INERTIA_LIMITED"),
        ({}, {}, 1e-5, "NUMBER_LIMITED"),
        ({"mass": 1, "inertiaDiagonal": [1, 1, 1]}, {"scale": [1e5] * 3}, 1e4, "SHAPE_TOO_LARGE"),
        ({"mass": 1}, {}, 1e8, "DENSITY_UNLIKELY"),
    ],
)
def test_what_follows_from_several_numbers_is_named(
    motion: dict[str, Any], node: dict[str, Any], size: float, code: str, tmp_path: Path
) -> None:
    report = gb.check(one_body(tmp_path / "body.gltf", motion, node, size))
    assert [issue.code for issue in report.issues] == [code]


def test_a_size_at_the_limit_loads_however_it_is_placed(shared_client: int, tmp_path: Path) -> None:
    """A turn moves the sizes by rounding, and the largest entry of the matrix by a factor."""
    turned = {"rotation": [0.0, 0.0, math.sin(0.4), math.cos(0.4)]}
    for size, node in ((1e8, turned), (1e7, turned | {"scale": [10.0] * 3})):
        path = one_body(tmp_path / "body.gltf", {"mass": 1}, node, size)
        assert [issue.code for issue in gb.check(path).issues] == ["DENSITY_UNLIKELY"]
        for up_axis in ("y", "z"):
            gb.load_gltf(path, shared_client, up_axis=up_axis).remove()


def test_scales_that_multiply_beyond_the_engine_are_refused_at_their_node(tmp_path: Path) -> None:
    nodes = [{"scale": [1e6] * 3, "children": [1]}, {"scale": [1e6] * 3}]
    path = tmp_path / "far.gltf"
    path.write_text(json.dumps({"asset": {"version": "2.0"}, "nodes": nodes}))
    (issue,) = gb.check(path).issues
    assert (issue.code, issue.pointer) == ("NODE_TOO_FAR", "/nodes/1")
