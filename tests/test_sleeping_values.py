"""Values that are filled when somebody asks for a field: whoever looks sees no difference."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from gltf_bullet.planning.contacts.pair_factors import Factors
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.sleeping_values import is_asleep, may_sleep
from gltf_bullet.transforms import Pose
from gltf_bullet.value_pickles import dumped, loaded

POSE = Pose((0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0))
"""Of a dataclass with slots."""
SPEC = MultibodySpec(world_from_base=POSE, mass=2.0)
"""Of one without, which also keeps what it has worked out."""


def slept(value: Any, *kinds: type) -> Any:
    """What comes back of ``value`` if those of some kinds sleep."""
    return loaded(dumped(value, asleep=may_sleep(*kinds)))


@pytest.mark.parametrize(("value", "field"), [(POSE, "translation"), (SPEC, "inertias")])
def test_it_sleeps_until_a_field_is_asked_for(value: object, field: str) -> None:
    again = slept(value, type(value))
    assert isinstance(again, type(value))
    assert is_asleep(again)
    assert getattr(again, field) == getattr(value, field)
    assert type(again) is type(value)
    assert not is_asleep(again)
    assert again == value


@pytest.mark.parametrize(
    "look",
    [
        repr,
        hash,
        copy.copy,
        copy.deepcopy,
        lambda pose: pickle.loads(pickle.dumps(pose)),  # noqa: S301  # ours
        lambda pose: loaded(dumped(pose)),
        lambda pose: replace(pose, translation=(0.0, 0.0, 1.0)),
        lambda pose: pose == POSE,
        lambda pose: POSE == pose,  # noqa: SIM300  # the other one's method
        lambda pose: pose.moved((1.0, 0.0, 0.0)),
        lambda pose: pose @ pose,
        lambda pose: pose.__class__,
    ],
)
def test_whatever_is_done_with_it_gives_the_same(look: Callable[[Any], Any]) -> None:
    assert look(slept(POSE, Pose)) == look(POSE)
    assert type(look(slept(POSE, Pose))) is type(look(POSE))


def test_what_is_one_object_stays_one() -> None:
    numbers = np.arange(3.0)
    factors = Factors(numbers, numbers, ())
    value = {"first": POSE, "again": POSE, "numbers": numbers, "other": [POSE, factors, factors]}
    again = slept(value, Pose, Factors)
    assert again["first"] is again["again"] is again["other"][0]
    assert again["other"][1] is again["other"][2]
    assert is_asleep(again["other"][1])
    assert again["other"][1].restitution is again["numbers"]  # which was awake


def test_sleepers_hold_each_other() -> None:
    spec, pose = slept([SPEC, SPEC.world_from_base], MultibodySpec, Pose)
    assert spec.world_from_base is pose


def test_one_that_only_a_sleeper_holds_comes_with_it() -> None:
    again = slept([SPEC, SPEC], MultibodySpec, Pose)[0]
    assert is_asleep(again)
    assert again.world_from_base == POSE
    assert not is_asleep(again.world_from_base)


def test_all_wake_with_the_first() -> None:
    first, second = slept([POSE, Pose.identity()], Pose)
    assert first.translation == POSE.translation
    assert not is_asleep(second)


def test_many_threads_may_ask_at_once() -> None:
    ways = [(float(k), 0.0, 0.0) for k in range(50)]
    for _ in range(20):
        poses = slept([replace(POSE, translation=way) for way in ways], Pose)
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(lambda pose: pose.translation, poses)) == ways


def test_a_frozen_one_is_frozen_while_it_sleeps() -> None:
    pose = slept(POSE, Pose)
    with pytest.raises(FrozenInstanceError):
        pose.translation = (0.0, 0.0, 0.0)
    assert pose == POSE


def test_only_dataclasses_sleep() -> None:
    with pytest.raises(TypeError, match="int cannot sleep"):
        may_sleep(int)
