"""The first form of OMI_physics_joint as the present one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gltf_bullet.diagnostics import Diagnostics, IssueKind
from gltf_bullet.dialects.omi.older_joints import JOINT_IN_FIRST_FORM, with_present_joints
from gltf_bullet.gltf.fields import ABSENCE_MENDED, INDEX_MEANS_NONE, REFERENCE_MISSING

Json = dict[str, Any]
JOINT = "OMI_physics_joint"
BODY: Json = {"OMI_physics_body": {"motion": {"type": "dynamic"}}}
WELD = {"linearAxes": [0, 1, 2], "angularAxes": [0, 1, 2]}
HELD = {**WELD, "min": 0.0, "max": 0.0}


def file(joint: Json, *, children: list[int] | None = None) -> Json:
    """Bodies 0 (turned half a turn about Y, of scale 2) and 1, and the joint node 2."""
    first: Json = {
        "translation": [1, 0, 0], "rotation": [0, 1, 0, 0], "scale": [2, 2, 2], "extensions": BODY,
    }  # fmt: skip
    if children is not None:
        first["children"] = children
    hinge = {"name": "hinge", "translation": [1, 2, 3], "extensions": {JOINT: joint}}
    return {
        "nodes": [first, {"extensions": BODY}, hinge],
        "extensions": {JOINT: {"constraints": [WELD]}},
    }


def test_a_file_without_them_stays_as_it_is(diagnostics: Diagnostics) -> None:
    root = {"nodes": [{"extensions": {JOINT: {"joint": 0, "connectedNode": 0}}}]}
    assert with_present_joints(root, diagnostics) is root


def test_each_body_gets_a_node_where_the_joint_node_stands(diagnostics: Diagnostics) -> None:
    root = with_present_joints(file({"constraints": [0], "nodeA": 0, "nodeB": 1}), diagnostics)
    assert root["extensions"] == {JOINT: {"physicsJoints": [{"limits": [HELD]}]}}
    a, b, hinge, on_a, on_b = root["nodes"]
    assert (a["children"], b["children"]) == ([3], [4])
    assert (on_a["name"], on_b["name"]) == ("hinge (nodeA)", "hinge (nodeB)")
    assert "extensions" not in hinge
    assert on_a["extensions"] == {JOINT: {"joint": 0, "connectedNode": 4}}
    # From (1, 0, 0), turned by half a turn about Y and twice as large: (0, 2, 3) is (0, 1, -1.5).
    expected = np.eye(4)
    expected[:3, :3] = np.diag([-0.5, 0.5, -0.5])
    expected[:3, 3] = (0.0, 1.0, -1.5)
    found = np.reshape(on_a["matrix"], (4, 4)).T
    assert found == pytest.approx(expected)
    assert on_b["matrix"][12:15] == pytest.approx([1.0, 2.0, 3.0])
    assert diagnostics.take(JOINT_IN_FIRST_FORM).pointer == f"/nodes/2/extensions/{JOINT}"


def test_a_joint_node_that_hangs_on_a_body_is_its_end(diagnostics: Diagnostics) -> None:
    joint = {"constraints": [0], "nodeA": 0, "nodeB": 1, "enableCollision": True}
    root = with_present_joints(file(joint, children=[2]), diagnostics)
    assert len(root["nodes"]) == 4
    present = {"joint": 0, "connectedNode": 3, "enableCollision": True}
    assert root["nodes"][2]["extensions"] == {JOINT: present}
    diagnostics.take(JOINT_IN_FIRST_FORM)


@pytest.mark.parametrize(
    ("joint", "kind"),
    [
        ({"nodeA": 0}, ABSENCE_MENDED),
        ({"nodeA": 0, "nodeB": -1}, INDEX_MEANS_NONE),
        ({"nodeA": 7, "nodeB": 1}, REFERENCE_MISSING),
    ],
)
def test_a_joint_without_two_bodies_is_left_out(
    diagnostics: Diagnostics, joint: Json, kind: IssueKind
) -> None:
    root = with_present_joints(file({"constraints": [0], **joint}), diagnostics)
    assert root["extensions"] == {JOINT: {"physicsJoints": []}}
    assert not any(JOINT in node.get("extensions", {}) for node in root["nodes"])
    diagnostics.take(JOINT_IN_FIRST_FORM)
    diagnostics.take(kind)


def test_a_limit_that_is_not_there_is_left_out(diagnostics: Diagnostics) -> None:
    joint = {"constraints": [0, 3], "nodeA": 0, "nodeB": 1}
    root = with_present_joints(file(joint), diagnostics)
    assert root["extensions"][JOINT]["physicsJoints"] == [{"limits": [HELD]}]
    diagnostics.take(JOINT_IN_FIRST_FORM)
    assert (
        diagnostics.take(REFERENCE_MISSING).pointer == f"/nodes/2/extensions/{JOINT}/constraints/1"
    )


def test_transforms_that_are_none_and_circles_are_gone_through(diagnostics: Diagnostics) -> None:
    """They are reported when the nodes are read."""
    root = file({"constraints": 0, "nodeA": 0, "nodeB": 1}, children=[0])
    root["nodes"][0] |= {"rotation": [0, 0, 0, 0], "scale": "large", "translation": [1, 2]}
    found = with_present_joints(root, diagnostics)
    assert found["nodes"][3]["matrix"][12:15] == pytest.approx([1.0, 2.0, 3.0])
    diagnostics.take(JOINT_IN_FIRST_FORM)
    diagnostics.take()
