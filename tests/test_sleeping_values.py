"""Values that are filled when somebody asks for a field: whoever looks sees no difference."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from types import FrameType
from typing import Any

import numpy as np
import pytest

from gltf_bullet.planning.contacts.pair_factors import Factors
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.sleeping_values import Sleepers, content_of, is_asleep, may_sleep
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


class _Interrupted(BaseException):
    """As ctrl-C."""


def interrupted(look: Callable[[], object], lines: int) -> bool:
    """Whether ``look`` was still at work after so many lines of the package; then it ends there."""
    left = lines

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        code = frame.f_code
        # Python itself is never interrupted between a lock and what it guards.
        if "gltf_bullet" not in code.co_filename or "_lock" in code.co_names:
            return None
        left -= event == "line"
        if left < 0:
            sys.settrace(None)
            raise _Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        look()
    except _Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False


def test_waking_goes_on_where_it_was_interrupted() -> None:
    poses, lines = [POSE, Pose.identity()], 0
    while True:
        again = slept([*poses, SPEC], Pose, MultibodySpec)
        if not interrupted(lambda: again[1].translation, lines):  # noqa: B023  # called at once
            break
        assert [*again] == [*poses, SPEC], lines
        assert not any(map(is_asleep, again)), lines
        lines += 1
    assert lines > 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_is_forked_while_a_thread_wakes_them_does_not_wait_for_ever() -> None:
    begun = threading.Event()

    def contents() -> list[Any]:
        begun.set()
        time.sleep(0.2)
        return [content_of(POSE)]

    may_sleep(Pose)
    pose = Sleepers(contents).value(Pose)
    thread = threading.Thread(target=repr, args=(pose,))
    thread.start()
    begun.wait()
    child = os.fork()
    if not child:
        try:
            os._exit(0 if pose.translation == POSE.translation else 1)
        finally:
            os._exit(2)
    thread.join()
    until = time.monotonic() + 10.0
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == (child, 0)


def test_a_frozen_one_is_frozen_while_it_sleeps() -> None:
    pose = slept(POSE, Pose)
    with pytest.raises(FrozenInstanceError):
        pose.translation = (0.0, 0.0, 0.0)
    assert pose == POSE


def test_only_dataclasses_sleep() -> None:
    with pytest.raises(TypeError, match="int cannot sleep"):
        may_sleep(int)
