"""Names that PyBullet cannot read: links have others then, and the file loads."""

from __future__ import annotations

import json
from pathlib import Path

import pybullet
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.session import headless_world

PENDULUM = Path(__file__).parents[2] / "examples" / "assets" / "pendulum.gltf"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("x" * 5000, "x" * 200),
        ("\N{GRINNING FACE}" * 300, "\N{GRINNING FACE}" * 200),
        ("<a> & \"b\"\n'c'", "<a> & \"b\"\n'c'"),
    ],
    ids=["NUL", "long", "long in bytes", "XML"],
)
def test_any_name_finds_a_link(name: str, shown: str) -> None:
    root = json.loads(PENDULUM.read_text(encoding="utf-8"))
    for node in root["nodes"]:
        node["name"] = name
    with headless_world() as client:
        scene = gb.load_gltf(json.dumps(root).encode(), client)
        scene.step(10)
        names = {
            pybullet.getJointInfo(body.body_id, k, physicsClientId=client)[12].decode()
            for body in scene.bodies.values()
            for k in range(pybullet.getNumJoints(body.body_id, physicsClientId=client))
        }
        assert shown in names
        assert all(found.startswith(shown) for found in names)
        assert {body.name for body in scene.bodies.values()} == {name}
