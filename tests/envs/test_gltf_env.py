"""Environments made of glTF files keep gymnasium's promises and the file's physics."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gltf_bullet.envs import Camera, DriveAction, EnvConfig, GltfEnv, terms
from gltf_bullet.errors import EngineError
from tests.envs.assets import (
    BALANCE,
    CART_POLE,
    FOLDER,
    GOAL_LINE,
    POLE_MASS,
    RANDOM_MASS,
    pushes,
    roll,
)

Make = Callable[..., GltfEnv]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes environments that are closed after the test."""
    made: list[GltfEnv] = []

    def make_one(path: Path, config: EnvConfig | None = None, **more: str) -> GltfEnv:
        made.append(GltfEnv(path, config, **more))
        return made[-1]

    yield make_one
    for env in made:
        env.close()


@pytest.mark.parametrize(
    ("asset", "config"),
    [("cart_pole", BALANCE), ("hinge_door", None), ("goal_line", None)],
)
def test_gymnasium_finds_nothing_to_warn_about(
    asset: str, config: EnvConfig | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    env = gymnasium.make("gltf_bullet/Gltf-v0", path=FOLDER / f"{asset}.gltf", config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_equally_seeded_instances_are_equal_to_the_bit_and_others_are_not(make: Make) -> None:
    actions = pushes(20)
    first, rewards = roll(make(CART_POLE, RANDOM_MASS), actions, seed=3)
    second, rewards_again = roll(make(CART_POLE, RANDOM_MASS), actions, seed=3)
    other, _ = roll(make(CART_POLE, RANDOM_MASS), actions, seed=4)
    assert (first == second).all()
    assert rewards == rewards_again
    assert not np.allclose(first, other, atol=1e-4)


def test_a_pickled_environment_starts_without_a_world_and_runs_alike(make: Make) -> None:
    env = make(CART_POLE, BALANCE)
    expected, _ = roll(env, pushes(10), seed=1)
    copy = pickle.loads(pickle.dumps(env))  # noqa: S301  # our own bytes
    with pytest.raises(gymnasium.error.ResetNeeded):
        copy.step(pushes(1)[0])
    assert (roll(copy, pushes(10), seed=1)[0] == expected).all()
    copy.close()


def test_a_force_action_accelerates_as_newton_says(make: Make) -> None:
    env = make(CART_POLE, replace(BALANCE, on_reset=None))
    env.reset(seed=0)
    observed, *_ = env.step(np.array([0.5], np.float32))
    # Upright, the pole of mass m (a box 1 m by 0.06 m) weighs on the cart M as m less what its
    # turning takes off: F = (M + m - m l^2 / (l^2 + I/m)) a at the first instant.
    mass, pole, arm = 1.0, 0.1, 0.5
    inertia_per_mass = (1.0**2 + 0.06**2) / 12.0
    felt = mass + pole * (1.0 - arm**2 / (arm**2 + inertia_per_mass))
    speed = 5.0 / felt * 4 / 240
    positions, velocities = observed[:2], observed[2:]
    assert velocities[0] == pytest.approx(speed, rel=1e-3)
    assert velocities[1] == pytest.approx(speed * arm / (arm**2 + inertia_per_mass), rel=1e-3)
    assert positions[0] > 0.0


def test_a_position_action_spans_the_limits_of_the_joint(make: Make) -> None:
    env = make(FOLDER / "hinge_door.gltf")
    env.reset(seed=0)
    env.step(np.array([1.0], np.float32))
    assert env.scene.joint_controls.drive_targets()[0] == pytest.approx([1.745])
    env.step(np.array([0.0], np.float32))
    assert env.scene.joint_controls.drive_targets()[0] == pytest.approx([0.0], abs=1e-12)


def test_a_drive_without_a_known_range_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match=r"velocity goes from .* give a finite low < high"):
        make(CART_POLE)
    ranged = EnvConfig(actions=(DriveAction(joint="Slide", low=-1.0, high=1.0),))
    assert make(CART_POLE, ranged).action_space.shape == (1,)


def test_actions_that_are_no_numbers_are_refused(make: Make) -> None:
    env = make(CART_POLE, BALANCE)
    env.reset(seed=0)
    for action in ([np.nan], [0.0, 0.0]):
        with pytest.raises(ValueError, match="must be 1 finite numbers"):
            env.step(np.array(action, np.float32))


def test_randomised_values_are_recorded_and_act(make: Make) -> None:
    env = make(CART_POLE, replace(RANDOM_MASS, on_reset=None))
    masses, speeds = [], []
    for seed in (1, 2):
        _, info = env.reset(seed=seed)
        masses.append(info["randomization"][POLE_MASS])
        assert env.scene.bodies["Pole"].mass == pytest.approx(masses[-1])
        observed, *_ = env.step(np.array([1.0], np.float32))
        speeds.append(observed[2])
    assert all(0.05 <= mass <= 0.5 for mass in masses)
    assert masses[0] != masses[1]
    # A heavier pole leaves less for the cart.
    assert (masses[0] < masses[1]) == (speeds[0] > speeds[1])


def test_a_trigger_that_is_crossed_within_one_step_is_latched(make: Make) -> None:
    config = EnvConfig(
        bodies=(),
        triggers=("Goal",),
        frame_skip=360,  # 1.5 s: the balls come, but one of them, and have not left the field
        rewards=(terms.TriggerEntered(trigger="Goal", body="BallMiddle", weight=7.0),),
        terminations=(terms.TriggerEntered(trigger="Goal", body="BallWide"),),
    )
    env = make(GOAL_LINE, config)
    env.reset(seed=0)
    observed, reward, terminated, _, info = env.step(np.zeros(0, np.float32))
    entered = {e.motion_node for e in info["events"] if e.kind == "entered"}
    bodies = env.scene.bodies
    assert entered == {bodies["BallMiddle"].node, bodies["BallInside"].node}
    assert {e.kind for e in info["events"]} == {"entered", "exited"}
    assert env.scene.triggers["Goal"].overlapping == ()
    assert observed.tolist() == [1.0]
    assert (reward, terminated) == (7.0, False)


def test_episodes_are_truncated_and_terminated(make: Make) -> None:
    env = make(CART_POLE, replace(BALANCE, max_episode_steps=3, on_reset=None))
    env.reset(seed=0)
    still = np.zeros(1, np.float32)
    assert [env.step(still)[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]
    config = replace(BALANCE, terminations=(terms.Below(node="Pole", height=5.0),))
    low = make(CART_POLE, config)
    low.reset(seed=0)
    assert low.step(still)[2] is True


def test_dictionaries_hold_bodies_and_pictures(make: Make) -> None:
    config = EnvConfig(flat=False, camera=Camera(width=32, height=24), bodies=("BallMiddle",))
    env = make(GOAL_LINE, config, render_mode="rgb_array")
    observed, _ = env.reset(seed=0)
    assert observed in env.observation_space
    assert observed["camera"].shape == (24, 32, 3)
    # glTF's (-2, 0.15, 0) stands up as (-2, 0, 0.15); it starts at 6 m/s along X.
    assert observed["bodies"][0, :3] == pytest.approx([-2.0, 0.0, 0.15], abs=1e-6)
    assert observed["bodies"][0, 7:10] == pytest.approx([6.0, 0.0, 0.0], abs=1e-6)
    picture = env.render()
    assert picture is not None
    assert picture.shape == (360, 480, 3)


def test_a_window_without_a_display_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(EngineError, match="needs a display"):
        GltfEnv(CART_POLE, BALANCE, render_mode="human")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"frame_skip": 0}, "frame_skip"),
        ({"time_step": 0.0}, "time_step"),
        ({"max_episode_steps": 0}, "max_episode_steps"),
        ({"camera": Camera()}, "flat=False"),
        ({"randomization": {"/nodes/0": (2.0, 1.0)}}, "empty"),
    ],
)
def test_configurations_that_make_no_sense_are_refused(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        EnvConfig(**wrong)  # type: ignore[arg-type]  # wrong on purpose
