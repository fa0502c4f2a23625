"""Values of a config besides names: wrong ones end its construction, and name the field."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gltf_bullet.envs import DriveAction, EnvConfig, GltfEnv, GltfVectorEnv, VariableAction, terms
from gltf_bullet.records import replace
from tests.envs.assets import BALANCE, CART_POLE


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: terms.Distance(node="A", target="B", weight="-1"), r"Distance.weight is '-1'"),
        (lambda: terms.Alive(weight=math.nan), "Alive.weight is nan; must be a number"),
        (lambda: terms.Alive(weight=math.inf), "Alive.weight is inf; must be finite"),
        (lambda: terms.Terminal(weight=None), "Terminal.weight is None; must be a number"),
        (lambda: terms.Terminal(weight=1.0, when=terms.Tipped), r"the class Tipped; write Tipped"),
        (lambda: terms.Speed(body="A", axis=5), "Speed.axis is 5; must be 0, 1 or 2"),
        (lambda: terms.ProjectedGravity(node="A", up=3), "up is 3; must be 0, 1 or 2"),
        (lambda: terms.Near(node="A", target="B", distance=-1), "distance is -1; must be >= 0"),
        (lambda: terms.Tipped(node="A", angle=-0.1), "angle is -0.1; must be >= 0"),
        (lambda: DriveAction(joint="A", low="a"), "low is 'a'; must be a number or None"),
        (lambda: VariableAction(variable="a", high=math.nan), "high is nan"),
        (lambda: EnvConfig(rewards=(terms.Alive,)), r"rewards\[0\] is the class Alive; write"),
        (lambda: EnvConfig(rewards=terms.Alive), r"rewards\[0\] is the class Alive; write"),
        (lambda: EnvConfig(terminations=3), "terminations is 3; must be a tuple"),
        (lambda: EnvConfig(success=3), "success is 3; must be a term"),
        (lambda: EnvConfig(actions=("Slide",)), "an action is 'Slide'; must be one of DriveAction"),
        (lambda: EnvConfig(on_reset=3), "on_reset must be a function"),
        (lambda: EnvConfig(gravity=-9.81), "gravity is -9.81; must be three numbers"),
        (lambda: EnvConfig(options={"substeps": 1}), "options is a dict; must be LoadOptions"),
        (lambda: EnvConfig(frame_skip=2.5), "frame_skip is 2.5; must be a whole number"),
        (lambda: EnvConfig(frame_skip=0), "frame_skip is 0; must be >= 1"),
        (lambda: EnvConfig(max_episode_steps=10.5), "must be a whole number or None"),
        (lambda: EnvConfig(max_episode_steps=0), "max_episode_steps is 0; must be >= 1"),
        (lambda: EnvConfig(time_step="1/240"), "time_step is '1/240'; must be a number"),
        (lambda: EnvConfig(randomization={"/a": 3}), r"/a: 3 is no range; must be \(low, high\)"),
        (lambda: EnvConfig(randomization={"/a": (1, 2, 3)}), r"\(1, 2, 3\) is no range"),
        (lambda: EnvConfig(randomization=["/a"]), "randomization is .*; must be a dictionary"),
        (lambda: GltfEnv(CART_POLE, {"frame_skip": 4}), "config is a dict; must be EnvConfig"),
        (lambda: GltfVectorEnv(CART_POLE, 2, {}), "config is a dict; must be EnvConfig"),
        (lambda: GltfVectorEnv(CART_POLE, "2"), "count is '2'; must be a whole number"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(make: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        make()


def test_numbers_of_numpy_and_open_ranges_are_taken() -> None:
    assert terms.Alive(weight=np.float32(0.5)).weight == 0.5
    assert EnvConfig(frame_skip=np.int64(2)).frame_skip == 2
    assert terms.JointOutside(joint="A", low=-math.inf, high=0.2).low == -math.inf


def test_a_single_name_is_taken() -> None:
    config = EnvConfig(joints="Hinge", bodies=(), nodes="Pole")  # type: ignore[arg-type]
    assert (config.joints, config.nodes) == (("Hinge",), ("Pole",))
    assert len(GltfEnv(CART_POLE, config).observation_names) == 5


def test_a_range_that_is_wrong_is_not_said_to_be_of_the_file() -> None:
    action = DriveAction(joint="Slide", mode="force", low=1.0, high=-1.0)
    with pytest.raises(ValueError, match=r"its force goes from 1 to -1; give"):
        GltfEnv(CART_POLE, replace(BALANCE, actions=(action,)))


def none(*_: object) -> None:
    """A function whose writer forgot to return."""


@pytest.mark.parametrize("field", ["rewards", "terminations", "observed", "success"])
@pytest.mark.parametrize(
    ("term", "text"),
    [
        (none, "the term none gave None; must be a number"),
        (lambda *_: np.zeros(2), "gave array.*; must be a number"),
        (lambda *_: math.nan, "gave nan; must be finite"),
    ],
)
def test_what_a_function_of_ones_own_gives_is_a_number(field: str, term: Any, text: str) -> None:
    config = EnvConfig(**{field: term})
    env = GltfEnv(CART_POLE, replace(config, actions=BALANCE.actions))
    with pytest.raises((TypeError, ValueError), match=text):  # noqa: PT012 (reset observes, too)
        env.reset(seed=0)
        env.step(np.zeros(1, np.float32))
    env.close()
