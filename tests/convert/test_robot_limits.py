"""Robots that are more than PyBullet can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file


def chain(links: int) -> str:
    """A URDF of links that hang on each other by hinges."""
    parts = [
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for k in range(links)
    ] + [
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        '<origin xyz="0 0 0.3"/><axis xyz="1 0 0"/></joint>'
        for k in range(links - 1)
    ]
    return "\n".join(['<robot name="chain">', *parts, "</robot>"])


def test_a_robot_of_more_links_than_one_body_can_have_is_refused(tmp_path: Path) -> None:
    """PyBullet loads it, and then tells nothing of it."""
    path = tmp_path / "chain.urdf"
    path.write_text(chain(128))
    assert robot_file(path, Diagnostics())[1].issues == ()
    path.write_text(chain(129))
    with pytest.raises(gb.ContainerError) as caught:
        robot_file(path, Diagnostics())
    [issue] = [issue for issue in caught.value.issues if issue.is_error]
    assert issue.code == "ROBOT_REFUSED"
    assert "128 joints" in issue.message
