"""Every unknown name of a config is said when the environment is made, with near names."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gltf_bullet.envs import DriveAction, EnvConfig, GltfEnv, terms
from gltf_bullet.records import replace
from tests.envs.assets import REACH, REACHER

MOTION = "/nodes/2/extensions/KHR_physics_rigid_bodies/motion"


@pytest.mark.parametrize(
    ("values", "near"),
    [
        ({"joints": ("Elbo",)}, "Elbow"),
        ({"bodies": ("UpperArn",)}, "UpperArm"),
        ({"triggers": ("Goa",)}, "Goal"),
        ({"nodes": ("Tipp",)}, "Tip"),
        ({"contacts": ("UpperArn",)}, "UpperArm"),
        ({"actions": (DriveAction(joint="Shoulde"),)}, "Shoulder"),
        ({"rewards": (terms.Distance(node="Tip", target="Goa"),)}, "Goal"),
        ({"rewards": (terms.Speed(body="UpperArn"),)}, "UpperArm"),
        ({"rewards": (terms.TriggerEntered(trigger="Goa"),)}, "Goal"),
        ({"terminations": (terms.Below(node="Tipp", height=0.0),)}, "Tip"),
        ({"terminations": (terms.JointOutside(joint="Elbo", low=0, high=1),)}, "Elbow"),
        ({"randomization": {f"{MOTION}/mas": (1.0, 2.0)}}, "mas"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
def test_an_unknown_name_ends_the_construction(values: dict[str, Any], near: str) -> None:
    config = replace(REACH, rewards=(), terminations=(), randomization={})
    GltfEnv(REACHER, config).close()
    with pytest.raises(KeyError, match=near):
        GltfEnv(REACHER, replace(config, **values))


def test_a_joint_without_that_degree_of_freedom() -> None:
    term = terms.JointOutside(joint="Elbow", low=0, high=1, dof=4)
    with pytest.raises(IndexError, match="dof is 4"):
        GltfEnv(REACHER, replace(REACH, terminations=(term,)))


def test_functions_of_ones_own_are_left_alone() -> None:
    config: EnvConfig = replace(REACH, rewards=(lambda *_: 1.0,))
    GltfEnv(REACHER, config).close()


@pytest.mark.parametrize(("low", "high"), [(1.0, -1.0), (0.0, 0.0), (math.nan, 1.0)])
def test_a_range_that_everything_is_outside_of_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match=r"low must be below high|low is nan"):
        terms.JointOutside(joint="Elbow", low=low, high=high)
