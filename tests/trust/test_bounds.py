"""What a small file may ask for: seconds and memory of a check, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bounds import DRAWN_TRIGGERS
from tests.figures import Figure
from tests.physics.scenes import world
from tools.gltf_builder import GltfBuilder

KHR = "KHR_physics_rigid_bodies"
ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import json, sys, time
import gltf_bullet as gb
gb.check(b"{}")  # imports are not what is measured
data = open(sys.argv[1], "rb").read()
before = time.process_time()
report = gb.check(data)
seconds = time.process_time() - before
status = open("/proc/self/status").read()  # of this program: that of rusage is also its parent's
peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps([seconds, peak, sorted({issue.code for issue in report.issues})]))
"""


class Cost(NamedTuple):
    seconds: float
    megabytes: float
    codes: set[str]


@pytest.fixture
def cost(tmp_path: Path) -> Callable[[dict[str, Any]], Cost]:
    def measure(members: dict[str, Any]) -> Cost:
        document = {"asset": {"version": "2.0"}, "extensionsUsed": [KHR], "scene": 0, **members}
        document["scenes"] = [{"nodes": list(range(len(members["nodes"])))}]
        (tmp_path / "file.gltf").write_text(json.dumps(document))
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path / "file.gltf")],
            capture_output=True, text=True, timeout=300, check=True, cwd=ROOT,
            env={**os.environ, "GLTF_BULLET_CACHE": str(tmp_path / "cache")},
        )  # fmt: skip
        seconds, megabytes, codes = json.loads(done.stdout.splitlines()[-1])
        return Cost(seconds, megabytes, set(codes))

    return measure


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peaks as Linux tells them")

Measure = Callable[[dict[str, Any]], Cost]


def hull_of(accessors: list[dict[str, Any]], **members: Any) -> dict[str, Any]:
    """A body per accessor whose collider is the hull of its points."""
    body = {"motion": {"mass": 1.0}}
    return {
        "accessors": accessors,
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": k}}]} for k in range(len(accessors))
        ],
        "nodes": [
            {
                "extensions": {
                    KHR: {**body, "collider": {"geometry": {"mesh": k, "convexHull": True}}}
                }
            }
            for k in range(len(accessors))
        ],
        **members,
    }


def points(count: int, **members: Any) -> dict[str, Any]:
    return {"componentType": 5126, "count": count, "type": "VEC3", **members}


def data_buffer(data: bytes, uri: str) -> dict[str, Any]:
    return {
        "buffers": [{"byteLength": len(data), "uri": uri}],
        "bufferViews": [{"buffer": 0, "byteLength": len(data)}],
    }


def test_percent_encoded_data_takes_ten_times_its_size(cost: Measure, figure: Figure) -> None:
    body = "%41" * 4_000_000  # 3 000 000 bytes of base64
    buffer = data_buffer(bytes(36), "data:application/octet-stream;base64," + body)
    found = cost(hull_of([points(3, bufferView=0)], **buffer))
    figure("memory of 12 MB", found.megabytes, most=250, unit="MB")  # 1003 before
    figure("time", found.seconds, most=3.0, unit="s")


@pytest.mark.parametrize("kind", ["one", "many", "sparse"])
def test_zeros_without_bytes_are_refused(cost: Measure, figure: Figure, kind: str) -> None:
    if kind == "one":
        accessors, members = [points(16_000_000)], {}
    elif kind == "many":
        accessors, members = [points(200_000) for _ in range(80)], {}
    else:  # one sparse value pays for 256 elements
        data = np.array([0], "<u4").tobytes() + bytes(12)
        members = data_buffer(data, "data:;base64,AAAAAAAAAAAAAAAAAAAAAA==")
        sparse = {
            "count": 1,
            "indices": {"bufferView": 0, "componentType": 5125},
            "values": {"bufferView": 0, "byteOffset": 4},
        }
        accessors = [points(16_000_000, sparse=sparse)]
    found = cost(hull_of(accessors, **members))
    assert "ACCESSOR_OF_ZEROS" in found.codes
    figure("memory", found.megabytes, most=250, unit="MB")  # 3291 before
    figure("time", found.seconds, most=6.0, unit="s")  # 87 before


def test_a_hull_of_corners_is_thinned(cost: Measure, figure: Figure) -> None:
    import base64

    corners = np.random.default_rng(0).normal(size=(100_000, 3))
    corners /= np.linalg.norm(corners, axis=1)[:, None]
    data = corners.astype("<f4").tobytes()
    buffer = data_buffer(data, "data:;base64," + base64.b64encode(data).decode())
    found = cost(hull_of([points(len(corners), bufferView=0)], **buffer))
    assert "HULL_REDUCED" in found.codes
    figure("memory", found.megabytes, most=400, unit="MB")  # 3285 before
    figure("time", found.seconds, most=10.0, unit="s")  # 19 before


def test_filters_take_as_long_as_they_are_many(cost: Measure, figure: Figure) -> None:
    def scene(count: int) -> dict[str, Any]:
        filters = [
            {"collisionSystems": [f"s{k}"], "notCollideWithSystems": [f"s{(k + 1) % count}"]}
            for k in range(count)
        ]
        collider = {"geometry": {"shape": 0}}
        return {
            "nodes": [
                {
                    "translation": [k, 0, 0],
                    "extensions": {
                        KHR: {"motion": {"mass": 1}, "collider": {**collider, "collisionFilter": k}}
                    },
                }
                for k in range(count)
            ],
            "extensions": {
                KHR: {"collisionFilters": filters},
                "KHR_implicit_shapes": {"shapes": [{"type": "box", "box": {"size": [0.5] * 3}}]},
            },
        }

    few, many = cost(scene(500)), cost(scene(2500))
    figure("2500 filters", many.seconds, most=4.0, unit="s")  # 8 before
    figure("five times as many", many.seconds / few.seconds, most=12.0, unit="times")


def crowd(count: int, apart: float, **motion: Any) -> dict[str, Any]:
    """Unit boxes along a line."""
    body = {"motion": {"mass": 1, **motion}, "collider": {"geometry": {"shape": 0}}}
    return {
        "nodes": [
            {"translation": [apart * k, 0, 0], "extensions": {KHR: body}} for k in range(count)
        ],
        "extensions": {
            "KHR_implicit_shapes": {"shapes": [{"type": "box", "box": {"size": [1] * 3}}]}
        },
    }


def test_bodies_in_one_place_are_refused(cost: Measure, figure: Figure) -> None:
    """PyBullet alone takes 8.5 s for the first step of 60 boxes, over a minute for 120."""
    found = cost(crowd(4000, 0.0))
    assert "BODIES_IN_ONE_PLACE" in found.codes
    figure("time", found.seconds, most=2.0, unit="s")
    figure("memory", found.megabytes, most=250, unit="MB")


@pytest.mark.parametrize(
    ("count", "apart", "motion", "is_refused"),
    [
        (45, 0.0, {}, False),  # 990 pairs
        (46, 0.0, {}, True),  # 1035
        (500, 0.6, {}, False),
        (500, 0.1, {}, True),  # 4 on each side
        (500, 0.0, {"isKinematic": True}, False),
    ],
)
def test_only_those_that_are_in_each_other_count(
    count: int, apart: float, motion: dict[str, Any], is_refused: bool
) -> None:
    members = crowd(count, apart, **motion)
    document = {"asset": {"version": "2.0"}, "extensionsUsed": [KHR], "scene": 0, **members}
    document["scenes"] = [{"nodes": list(range(count))}]
    codes = {issue.code for issue in gb.check(json.dumps(document).encode()).issues}
    assert ("BODIES_IN_ONE_PLACE" in codes) == is_refused


def test_bodies_in_one_place_that_do_not_collide_may_stand_there() -> None:
    members = crowd(100, 0.0)
    members["extensions"][KHR] = {
        "collisionFilters": [{"collisionSystems": ["a"], "notCollideWithSystems": ["a"]}]
    }
    for node in members["nodes"]:
        node["extensions"] = json.loads(json.dumps(node["extensions"]))
        node["extensions"][KHR]["collider"]["collisionFilter"] = 0
    document = {"asset": {"version": "2.0"}, "extensionsUsed": [KHR], "scene": 0, **members}
    document["scenes"] = [{"nodes": list(range(100))}]
    codes = {issue.code for issue in gb.check(json.dumps(document).encode()).issues}
    assert "BODIES_IN_ONE_PLACE" not in codes


def bowl(radius: float, **ball: Any) -> bytes:
    """A bowl of 9800 triangles and radius 1 [m], and in its middle a ball."""
    turns, rises = np.meshgrid(np.linspace(0, 2 * np.pi, 71), np.linspace(0, np.pi / 2, 71))
    spots = np.stack([np.cos(turns) * np.sin(rises), -np.cos(rises), np.sin(turns) * np.sin(rises)])
    first = (np.arange(70)[:, None] * 71 + np.arange(70)).ravel()
    faces = np.stack([first, first + 1, first + 71, first + 1, first + 72, first + 71], axis=1)
    builder = GltfBuilder()
    builder.root_extension(
        KHR, {"collisionFilters": [{"collisionSystems": ["a"], "notCollideWithSystems": ["a"]}]}
    )
    builder.root_extension(
        "KHR_implicit_shapes", {"shapes": [{"type": "sphere", "sphere": {"radius": radius}}]}
    )
    mesh = builder.mesh(spots.reshape(3, -1).T, faces.reshape(-1, 3))
    for geometry, motion in (({"mesh": mesh}, {}), ({"shape": 0}, {"motion": {"mass": 1}})):
        builder.node(extensions={KHR: {**motion, "collider": {"geometry": geometry, **ball}}})
    return builder.gltf()


@pytest.mark.parametrize(
    ("radius", "ball", "is_refused"),
    [
        (0.999, {}, False),  # it fills the bowl
        (1.5, {}, True),
        (25_000.0, {}, True),
        (1.5, {"collisionFilter": 0}, False),
    ],
)
def test_a_body_around_thousands_of_triangles_is_refused(
    radius: float, ball: dict[str, Any], is_refused: bool
) -> None:
    """A robot of 25 km on a floor of 2304 triangles took 12 s a step."""
    codes = {issue.code for issue in gb.check(bowl(radius, **ball)).issues}
    assert ("TRIANGLES_WITHIN_BODIES" in codes) == is_refused


def test_a_picture_of_zeros_without_bytes_is_refused_too() -> None:
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [points(16_000_000)],
    }
    report = gb.check(json.dumps(document).encode())
    assert {issue.code for issue in report.issues} == {"ACCESSOR_OF_ZEROS"}


def test_thousands_of_joints_take_as_long_as_they_are_many(cost: Measure, figure: Figure) -> None:
    def ring(count: int) -> dict[str, Any]:
        """Each body's joint leads to the next one; half of the joint nodes do not move."""
        members = crowd(count, 3.0)
        joints = [
            {"extensions": {KHR: {"joint": {"joint": 0, "connectedNode": (k + 1) % count}}}}
            for k in range(count)
        ]
        for k, node in enumerate(members["nodes"]):
            if k % 2:
                node["children"] = [count + k]
        fixed = {"linearAxes": [0, 1, 2], "min": 0, "max": 0}
        members["extensions"][KHR] = {"physicsJoints": [{"limits": [fixed]}]}
        return {**members, "nodes": members["nodes"] + joints}

    few, many = cost(ring(600)), cost(ring(3000))
    figure("3000 joints", many.seconds, most=12.0, unit="s")  # over 20 before
    figure("five times as many", many.seconds / few.seconds, most=9.0, unit="times")


def test_more_bodies_than_the_engine_can_make_are_refused(cost: Measure, figure: Figure) -> None:
    found = cost(crowd(20_001, 3.0))
    assert "TOO_MANY_BODIES" in found.codes
    figure("time", found.seconds, most=15.0, unit="s")
    assert "TOO_MANY_BODIES" not in cost(crowd(2000, 3.0)).codes


def test_morph_targets_that_repeat_each_other_are_bounded(cost: Measure, figure: Figure) -> None:
    shape = {"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}] * 1000}
    members = {
        "accessors": [points(30_000)],
        "meshes": [{"primitives": [shape]}],
        "nodes": [{"mesh": 0, "extensions": {KHR: {"collider": {"geometry": {"mesh": 0}}}}}],
    }
    found = cost(members)
    assert "TARGETS_REPEATED" in found.codes
    figure("memory", found.megabytes, most=250, unit="MB")  # 751 before
    few = {"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}] * 100}
    assert "TARGETS_REPEATED" not in cost({**members, "meshes": [{"primitives": [few]}]}).codes


def test_a_picture_draws_some_of_thousands_of_triggers() -> None:
    count = DRAWN_TRIGGERS + 1
    members = crowd(count, 2.0)
    for node in members["nodes"]:
        node["extensions"] = {KHR: {"trigger": {"geometry": {"shape": 0}}}}
    document = {"asset": {"version": "2.0"}, "extensionsUsed": [KHR], "scene": 0, **members}
    document["scenes"] = [{"nodes": list(range(count))}]
    told = pytest.warns(RuntimeWarning, match=f"{count} volumes.*{DRAWN_TRIGGERS} of them")
    with world(json.dumps(document).encode()) as scene, told:
        scene.render(size=(32, 32), triggers=True)
