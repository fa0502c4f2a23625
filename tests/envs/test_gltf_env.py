"""Environments made of glTF files keep gymnasium's promises and the file's physics."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import gltf_bullet as gb
from gltf_bullet.envs import (
    CameraObservation,
    DriveAction,
    EnvConfig,
    GltfEnv,
    GltfVectorEnv,
    terms,
)
from gltf_bullet.errors import EngineError
from gltf_bullet.records import replace
from tests.envs.assets import (
    BALANCE,
    CART_POLE,
    FOLDER,
    GOAL_LINE,
    POLE_MASS,
    RANDOM_MASS,
    REACH,
    REACHER,
    WALK,
    WALKER,
    pushes,
    roll,
    shove,
)
from tests.physics.scenes import bodies_in

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
    [
        ("cart_pole", BALANCE),
        ("reacher", REACH),
        ("walker", WALK),
        ("hinge_door", None),
        ("goal_line", EnvConfig()),
    ],
)
def test_gymnasium_finds_nothing_to_warn_about(
    asset: str, config: EnvConfig | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    env = gymnasium.make("gltf_bullet/Gltf-v0", path=FOLDER / f"{asset}.gltf", config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It says so of every quantity without a bound.
        warnings.filterwarnings("ignore", "(?s).*A Box observation space m..imum value is -?infin")
        check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize(
    ("path", "config"),
    [(CART_POLE, RANDOM_MASS), (REACHER, REACH), (WALKER, replace(WALK, on_reset=shove))],
    ids=["cart_pole", "reacher", "walker"],
)
def test_equally_seeded_instances_are_equal_to_the_bit_and_others_are_not(
    make: Make, path: Path, config: EnvConfig
) -> None:
    env = make(path, config)
    actions = pushes(40, len(env.action_space.low))
    first, rewards = roll(env, actions, seed=3)
    second, rewards_again = roll(make(path, config), actions, seed=3)
    once_more, _ = roll(env, actions, seed=3)
    other, _ = roll(make(path, config), actions, seed=4)
    assert (first == second).all()
    assert (first == once_more).all()
    assert rewards == rewards_again
    assert not np.allclose(first, other, atol=1e-4)


def test_the_bytes_of_a_file_are_as_good_as_its_path(make: Make) -> None:
    data = gb.read_asset(REACHER).to_glb()
    expected, _ = roll(make(REACHER, REACH), pushes(10, 2), seed=1)
    env = GltfEnv(data, REACH)
    found, _ = roll(pickle.loads(pickle.dumps(env)), pushes(10, 2), seed=1)  # noqa: S301
    assert (found == expected).all()


def test_gymnasium_finds_the_name_without_an_import_of_ours() -> None:
    program = (
        "import gymnasium\n"
        "name = 'gltf_bullet.envs:gltf_bullet/Gltf-v0'\n"
        f"env = gymnasium.make(name, path={str(FOLDER / 'hinge_door.gltf')!r})\n"
        "print(type(env.unwrapped).__name__)\n"
        f"envs = gymnasium.make_vec(name, num_envs=3, path={str(FOLDER / 'hinge_door.gltf')!r})\n"
        "print(type(envs.unwrapped).__name__, envs.num_envs)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-2:] == ["GltfEnv", "GltfVectorEnv 3"]


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


def test_a_drive_without_a_range_acts_by_its_force(make: Make) -> None:
    env = make(CART_POLE)  # its drive holds a speed of 0 with at most 10 N
    env.reset(seed=0)
    before = env.scene.bodies["Cart"].linear_velocity
    env.step(np.array([1.0], np.float32))
    pushed = env.scene.bodies["Cart"].linear_velocity - before
    assert np.abs(pushed).max() > 0.01
    ranged = EnvConfig(actions=(DriveAction(joint="Slide", low=-1.0, high=1.0),))
    assert make(CART_POLE, ranged).action_space.shape == (1,)
    alone = EnvConfig(actions=DriveAction(joint="Slide"))
    assert alone.actions == (DriveAction(joint="Slide"),)


def test_a_drive_without_range_and_force_is_refused_with_the_lines_to_add(make: Make) -> None:
    lines = r"velocity goes from 0 to 0 .* give a finite low < high:\n    config = EnvConfig\("
    with pytest.raises(ValueError, match=lines):
        make(FOLDER / "ragdoll.gltf")


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


def test_a_randomised_size_is_the_size_that_the_body_rests_on(make: Make) -> None:
    pointer = "/extensions/KHR_implicit_shapes/shapes/0/box/size"
    config = EnvConfig(randomization={pointer: ((0.4, 0.6, 0.8), (0.5, 0.7, 0.9))}, frame_skip=720)
    env = make(FOLDER / "falling_box.gltf", config)
    sizes = []
    for seed in (1, 2):
        _, info = env.reset(seed=seed)
        sizes.append(info["randomization"][pointer])
        assert ((sizes[-1] >= (0.4, 0.6, 0.8)) & (sizes[-1] <= (0.5, 0.7, 0.9))).all()
        assert env.scene.get(pointer) == pytest.approx(sizes[-1])
        observed, *_ = env.step(np.zeros(0, np.float32))
        # It lies on one of its faces.
        assert np.abs(0.5 * sizes[-1] - observed[2]).min() < 2e-3
    assert (sizes[0] != sizes[1]).all()


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


def test_a_trigger_that_is_left_within_a_step_was_inside(make: Make) -> None:
    config = EnvConfig(bodies=(), triggers=("Goal",), frame_skip=1)
    env = make(GOAL_LINE, config)
    env.reset(seed=0)
    seen = []
    for _ in range(720):
        observed, *_, info = env.step(np.zeros(0, np.float32))
        if any(event.kind == "exited" for event in info["events"]):
            seen.append(observed.tolist())
    assert seen
    assert all(one == [1.0] for one in seen)


def test_episodes_are_truncated_and_terminated(make: Make) -> None:
    env = make(CART_POLE, replace(BALANCE, max_episode_steps=3, on_reset=None))
    env.reset(seed=0)
    still = np.zeros(1, np.float32)
    assert [env.step(still)[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]
    config = replace(BALANCE, terminations=(terms.Below(node="Pole", height=5.0),))
    low = make(CART_POLE, config)
    low.reset(seed=0)
    assert low.step(still)[2] is True


def test_places_of_nodes_follow_the_goal_and_the_arm(make: Make) -> None:
    env = make(REACHER, replace(REACH, randomization={}))
    observed, _ = env.reset(seed=0)
    # The arm starts along X with its tip at 0.9 m; glTF's (0.4, 0.325, -0.5) stands up in Z.
    assert observed[4:10] == pytest.approx([0.9, 0.0, 0.325, 0.4, 0.5, 0.325], abs=1e-6)
    observed, *_ = env.step(np.array([1.0, 1.0], np.float32))
    shoulder, elbow = observed[:2].tolist()
    tip = [
        0.5 * np.cos(shoulder) + 0.4 * np.cos(shoulder + elbow),
        0.5 * np.sin(shoulder) + 0.4 * np.sin(shoulder + elbow),
    ]
    assert abs(shoulder) + abs(elbow) > 1e-3
    assert observed[4:6] == pytest.approx(tip, abs=1e-5)


def test_a_goal_that_is_moved_needs_no_new_bodies(make: Make) -> None:
    env = make(REACHER, REACH)
    env.reset(seed=0)
    bodies = bodies_in(env.scene.client_id)
    observed, info = env.reset()
    x, y, z = info["randomization"]["/nodes/12/translation"]
    assert bodies_in(env.scene.client_id) == bodies
    assert observed[7:10] == pytest.approx([x, -z, y], abs=1e-6)


def test_the_goal_is_reached_where_the_tip_is(make: Make) -> None:
    env = make(REACHER, replace(REACH, randomization={}))
    env.reset(seed=0)
    env.scene.set("/nodes/12/translation", (0.9, 0.325, 0.05))
    observed, _, terminated, _, _ = env.step(np.zeros(2, np.float32))
    assert terminated
    assert observed[-1] == 1.0


def test_feet_carry_the_weight_and_the_ground_feels_it(make: Make) -> None:
    config = replace(WALK, flat=False, contacts=(*WALK.contacts, "Ground"), frame_skip=120)
    env = make(WALKER, config)
    observed, _ = env.reset(seed=0)
    assert not observed["contacts"].any()
    observed, *_ = env.step(np.zeros(8, np.float32))
    contacts = observed["contacts"]
    weight = (2.4 + 4 * (0.2 + 0.3)) * 9.81
    assert contacts[:, 0].tolist() == [1.0] * 5
    assert contacts[:4, 3].sum() == pytest.approx(weight, rel=0.01)
    assert contacts[4, 1:] == pytest.approx(-contacts[:4, 1:].sum(axis=0), abs=1e-3)
    # Four stiff legs on a plane: what the two diagonals share is left to the engine, which keeps
    # equal shares for a while only. Bare PyBullet with motors, or torques, of a user's own drifts
    # to 2.9 and 18.7 N within a second, too (measured).
    assert contacts[:4, 3] == pytest.approx([weight / 4] * 4, rel=0.1)
    with pytest.raises(ValueError, match="neither part of a body nor a static collider"):
        make(WALKER, replace(WALK, contacts=("Tile0",)))


def test_dictionaries_hold_bodies_and_pictures(make: Make) -> None:
    config = EnvConfig(
        flat=False, camera=CameraObservation(width=32, height=24), bodies=("BallMiddle",)
    )
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


def test_a_picture_shows_the_goal_where_it_was_put(make: Make) -> None:
    """A trigger, drawn in magenta: more red than green, as nothing else of this file."""
    env = make(REACHER, replace(REACH, randomization={}), render_mode="rgb_array")
    seen = []
    for place in ((0.7, 0.325, 0.5), (0.3, 0.325, -0.5)):
        env.reset(seed=0, options={"values": {"/nodes/12/translation": place}})
        picture = env.render()
        assert picture is not None
        red, green, blue = picture.astype(int).transpose(2, 0, 1)
        seen.append(np.argwhere((red > green + 30) & (blue > green + 30)))
        assert len(seen[-1]) > 50
    assert np.linalg.norm(seen[0].mean(axis=0) - seen[1].mean(axis=0)) > 20.0


def test_a_picture_may_be_taken_from_one_place(make: Make) -> None:
    camera = CameraObservation(width=40, height=30, follows=False)
    walk = replace(WALK, camera=camera, flat=False, terminations=(), max_episode_steps=None)
    env, fresh = make(WALKER, walk), make(WALKER, WALK)
    fresh.reset(seed=0)
    place = fresh.scene.pictures.still_camera((40, 30))
    env.reset(seed=0)
    env.scene.apply_impulse("Torso", linear=(3.0, 0.0, 4.0))
    for _ in range(10):
        observed, *_ = env.step(np.zeros(8, np.float32))
    assert isinstance(observed, dict)
    pictures = env.scene.pictures
    assert (observed["camera"] == pictures.rgb(place, (40, 30))).all()
    assert (observed["camera"] != pictures.rgb(size=(40, 30))).any()
    with pytest.raises(KeyError, match="no_camera"):
        make(WALKER, replace(walk, camera=replace(camera, camera="no_camera")))


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
        ({"camera": CameraObservation()}, "flat=False"),
        ({"randomization": {"/nodes/0": (2.0, 1.0)}}, "empty"),
    ],
)
def test_configurations_that_make_no_sense_are_refused(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        EnvConfig(**wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_a_file_without_drives_is_no_environment_unless_somebody_says_what_acts() -> None:
    with pytest.raises(ValueError, match=r"falling_box.*no joints.*VariableAction"):
        GltfEnv(FOLDER / "falling_box.gltf")
    with pytest.raises(ValueError, match=r"no joints"):
        GltfVectorEnv(FOLDER / "falling_box.gltf", 2)
    assert GltfEnv(FOLDER / "falling_box.gltf", EnvConfig()).action_space.shape == (0,)


def test_modes_that_there_are_not_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'torque'.*force is the mode for torques"):
        DriveAction(joint="Hinge", mode="torque")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="up_axis is 'x'"):
        EnvConfig(up_axis="x")  # type: ignore[arg-type]


def test_actions_out_of_range_are_named_once(make: Make) -> None:
    env = make(REACHER, REACH)
    env.reset(seed=0)
    action = np.array([-3.0, 0.5], dtype=np.float32)
    with pytest.warns(RuntimeWarning, match=r"one of 3 is cut"):
        env.step(action)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.step(action)


def test_options_of_a_reset_hold_for_that_episode(make: Make) -> None:
    env = make(REACHER, REACH)
    goal = "/nodes/12/translation"
    observed, info = env.reset(seed=0, options={"values": {goal: (0.3, 0.325, 0.1)}})
    assert goal not in info["randomization"], "it was set, not drawn"
    # glTF's Y is Bullet's Z.
    assert observed[7:10] == pytest.approx([0.3, -0.1, 0.325], abs=1e-6)
    narrow = ((0.5, 0.325, 0.2), (0.5, 0.325, 0.2))
    observed, info = env.reset(options={"randomization": {goal: narrow}})
    assert info["randomization"][goal] == pytest.approx([0.5, 0.325, 0.2])
    assert observed[7:10] == pytest.approx([0.5, -0.2, 0.325], abs=1e-6)
    drawn = env.reset(seed=4)[1]["randomization"][goal]
    assert drawn == pytest.approx(env.reset(seed=4, options={})[1]["randomization"][goal])
    assert not np.allclose(drawn, narrow[0])


def test_standing_options_are_those_of_every_reset_that_has_none(make: Make) -> None:
    env = make(REACHER, REACH)
    goal = "/nodes/12/translation"
    with pytest.raises(ValueError, match="no option 'value'"):
        env.reset_options = {"value": {}}
    env.reset_options = {"values": {goal: (0.3, 0.325, 0.1)}}
    for _ in range(2):
        assert env.reset()[0][7:10] == pytest.approx([0.3, -0.1, 0.325], abs=1e-6)
    other = env.reset(options={"values": {goal: (0.4, 0.325, 0.1)}})[0]
    assert other[7:10] == pytest.approx([0.4, -0.1, 0.325], abs=1e-6)
    env.reset_options = None
    assert goal in env.reset()[1]["randomization"]


def test_every_number_of_an_action_has_a_name(make: Make) -> None:
    assert make(REACHER, REACH).action_names == ("Shoulder velocity", "Elbow velocity")
    assert make(CART_POLE, BALANCE).action_names == ("Slide force",)


def test_an_episode_may_start_from_a_saved_state(make: Make) -> None:
    env = make(WALKER, replace(WALK, on_reset=shove))
    env.reset(seed=0)
    for action in pushes(5, 8):
        env.step(action)
    state = env.scene.save_state()
    quiet = make(WALKER, WALK)
    quiet.reset(seed=0)
    start, _ = quiet.reset(seed=0, options={"state": quiet.scene.save_state()})
    assert (start == quiet.reset(seed=0)[0]).all()
    later, _ = env.reset(seed=0, options={"state": state})
    height = list(env.observation_names).index("Torso z")
    assert later[height] != start[height]
    assert later[height] == pytest.approx(env.scene.world_from_node("Torso")[2, 3], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"randomisation": {}}, ValueError, "no option 'randomisation'.*did you mean 'randomiz"),
        ({"goal": 1}, ValueError, "only state, randomization, values"),
        ({"values": {"/nodes/99/translation": (0, 0, 0)}}, KeyError, "99"),
        ({"randomization": {"/nodes/12/translation": (1.0, 0.0)}}, ValueError, "empty"),
        ({"state": 3}, TypeError, "state"),
        ({"values": 3}, TypeError, "values is 3; must be a dictionary"),
        (3, TypeError, "options is 3; must be a dictionary"),
    ],
)
def test_options_that_there_are_not_are_refused(
    make: Make, options: object, error: type[Exception], text: str
) -> None:
    env = make(REACHER, REACH)
    with pytest.raises(error, match=text):
        env.reset(options=options)


def test_the_config_stays(make: Make) -> None:
    env = make(CART_POLE, BALANCE)
    assert env.config is BALANCE
    with pytest.raises(AttributeError):
        env.config = RANDOM_MASS  # type: ignore[misc]


def test_quantities_without_a_bound_have_none(make: Make) -> None:
    env = make(WALKER, WALK)
    low, high = env.observation_space.low, env.observation_space.high
    for name, bottom, top in zip(env.observation_names, low, high, strict=True):
        what = name.rpartition(" ")[2]
        if what in ("qx", "qy", "qz", "qw"):
            assert (bottom, top) == (-1.0, 1.0)
        elif what == "touches":
            assert (bottom, top) == (0.0, 1.0)
        else:
            assert (bottom, top) == (-np.inf, np.inf)


def test_a_single_term_is_taken() -> None:
    alive = terms.Alive()
    assert EnvConfig(rewards=alive).rewards == (alive,)
    with pytest.raises(TypeError, match=r"rewards\[0\] is 'score'; must be a term"):
        EnvConfig(rewards=("score",))  # type: ignore[arg-type]


def test_every_number_of_an_observation_has_a_name(make: Make) -> None:
    for path, config in ((REACHER, REACH), (FOLDER / "goal_line.gltf", EnvConfig())):
        env = make(path, config)
        seen, _ = env.reset(seed=0)
        names = env.observation_names
        assert len(names) == len(set(names)) == len(seen)
    # The last ones are of goal_line.
    assert names[0] == "BallMiddle x"
    assert names[-1] == "Goal inside"
    ball = env.scene.world_from_node(env.scene.node("BallMiddle").index)[:3, 3]
    assert seen[[names.index(f"BallMiddle {axis}") for axis in "xyz"]] == pytest.approx(ball)
