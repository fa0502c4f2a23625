"""Numbers that users hand over: steps, worlds, forces, and what they set with PyBullet's calls."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest

import gltf_bullet as gb

ASSETS = Path(__file__).parents[2] / "examples" / "assets"
FALLING = ASSETS / "falling_box.gltf"


@pytest.mark.parametrize(
    ("count", "error", "match"),
    [
        (-1, ValueError, "count is -1; must be 0 or more steps"),
        (np.int64(-3), ValueError, "count is -3; must be 0 or more steps"),
        (1.5, TypeError, "count is 1.5; must be a whole number of steps"),
        (2.0, TypeError, "count is 2.0; must be a whole number of steps"),
        (math.nan, TypeError, "count is nan; must be a whole number of steps"),
        (None, TypeError, "count is None; must be a whole number of steps"),
        ("3", TypeError, "count is '3'; must be a whole number of steps"),
    ],
)
def test_steps_are_whole_numbers(
    client: int, count: object, error: type[Exception], match: str
) -> None:
    """-1 made none, 1.5 two and nan none, without a word."""
    scene = gb.load_gltf(FALLING, client)
    for stepped in (scene, scene):
        with pytest.raises(error, match=match):
            stepped.step(count)  # type: ignore[arg-type]
    assert scene.time == 0.0


def test_numbers_of_numpy_count_steps_and_name_worlds(client: int) -> None:
    scene = gb.load_gltf(FALLING, np.int64(client))
    assert type(scene.client_id) is int
    for count in (0, 1, np.int64(2), np.uint8(3)):
        scene.step(count)  # type: ignore[arg-type]
    assert scene.time == pytest.approx(6 / 240)
    scene.remove()


@pytest.mark.parametrize("wrong", [True, 0.0, "0", None, np.float64(0.0)])
def test_what_is_no_world_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="must be a client id or a BulletClient"):
        gb.load_gltf(FALLING, wrong)  # type: ignore[arg-type]


def test_a_number_of_no_world_is_refused() -> None:
    with pytest.raises(gb.EngineError, match="physics client 991 is not connected"):
        gb.load_gltf(FALLING, np.int32(991))


@pytest.mark.parametrize("scale", [2, np.float32(2.0), np.array(2.0), Decimal(2), Fraction(2)])
def test_any_real_number_is_a_scale(client: int, scale: float) -> None:
    scene = gb.load_gltf(FALLING, client, scale=scale)
    same = gb.load_gltf(FALLING, client, scale=2.0)
    assert (scene.world_from_node(0) == same.world_from_node(0)).all()


@pytest.mark.parametrize("scale", ["1", None, 1 + 0j, (1,), [1.0]])
def test_what_is_no_number_is_no_scale_whatever_was_loaded_before(
    client: int, scale: object
) -> None:
    gb.load_gltf(FALLING, client, scale=1.0)
    with pytest.raises(TypeError, match="must be real number, not"):
        gb.load_gltf(FALLING, client, scale=scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("up_axis", ["x", None, [], {}])
def test_an_axis_that_is_neither_is_refused(client: int, up_axis: object) -> None:
    with pytest.raises(ValueError, match="must be 'y' or 'z'"):
        gb.load_gltf(FALLING, client, up_axis=up_axis)  # type: ignore[arg-type]


PUSHES = {
    "impulse": lambda body, value: body.apply_impulse(value),
    "angular impulse": lambda body, value: body.apply_impulse([0, 0, 1], value),
    "impulse at a point": lambda body, value: body.apply_point_impulse(value, [0, 0, 0]),
    "impulse at no point": lambda body, value: body.apply_point_impulse([0, 0, 1], value),
    "force": lambda body, value: body.apply_force(value),
    "torque": lambda body, value: body.apply_torque(value),
}


@pytest.mark.parametrize("push", PUSHES)
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, TypeError),
        (5.0, TypeError),
        ("abc", TypeError),
        ([0.0, 0.0, math.nan], ValueError),
        ([0.0, math.inf, 0.0], ValueError),
        ([1.0, 2.0], ValueError),
        ([1.0, 2.0, 3.0, 4.0], ValueError),
        ([[1.0], [2.0], [3.0]], TypeError),
    ],
)
@pytest.mark.parametrize("asset", ["falling_box", "hinge_door"])
def test_pushes_are_three_finite_numbers(
    client: int, push: str, value: object, error: type[Exception], asset: str
) -> None:
    scene = gb.load_gltf(ASSETS / f"{asset}.gltf", client)
    body = next(b for b in scene.bodies.values() if b.kind.value == "dynamic")
    before = [*body.linear_velocity, *body.angular_velocity]
    with pytest.raises(error, match="three"):
        PUSHES[push](body, value)
    assert [*body.linear_velocity, *body.angular_velocity] == before
    scene.step()
    assert np.isfinite(scene.node_matrices).all()


def test_pushes_of_a_scene_are_looked_at_where_nothing_is_pushed(client: int) -> None:
    scene = gb.load_gltf(FALLING, client)
    ground = next(n.index for n in scene.nodes if scene.body_of(n.index) is None)
    with pytest.raises(ValueError, match="linear is"):
        scene.apply_impulse(ground, [1.0])
    with pytest.raises(TypeError, match="position is None"):
        scene.apply_point_impulse(ground, [1.0, 2.0, 3.0], None)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [0.0, -0.01, math.nan, math.inf, 1e9])
@pytest.mark.parametrize("asset", ["falling_box", "vehicle", "kinematic_platform"])
def test_a_time_step_with_which_nothing_can_be_stepped_is_refused(
    client: int, step: float, asset: str
) -> None:
    """0 and 1e9 s stepped, NaN was a ``LinAlgError``."""
    scene = gb.load_gltf(ASSETS / f"{asset}.gltf", client)
    scene.step()
    pybullet.setTimeStep(step, physicsClientId=client)
    for act in (scene.step, scene.before_step, scene.step):
        with pytest.raises(gb.EngineError, match="time step of physics client"):
            act()
    pybullet.setTimeStep(1 / 240, physicsClientId=client)
    scene.step()
    assert scene.time == pytest.approx(2 / 240)


def test_a_gravity_that_is_no_number_is_refused(client: int) -> None:
    scene = gb.load_gltf(FALLING, client)
    pybullet.setGravity(0.0, math.nan, 0.0, physicsClientId=client)
    with pytest.raises(gb.EngineError, match="must be finite"):
        scene.step()
    pybullet.setGravity(0.0, 0.0, -9.81, physicsClientId=client)
    scene.step()


@pytest.mark.parametrize(("asset", "comes_back"), [("hinge_door", True), ("four_bar", False)])
def test_what_is_said_of_joints_without_numbers_is_so(
    client: int, asset: str, comes_back: bool
) -> None:
    """A base that cannot move stayed NaN, and was said to have been put back."""
    scene = gb.load_gltf(ASSETS / f"{asset}.gltf", client)
    scene.step()
    state = scene.save_state()
    body_id = next(iter(scene.bodies.values())).body_id
    pybullet.resetBasePositionAndOrientation(
        body_id, [0, 0, 1], [0, 0, 0, 0], physicsClientId=client
    )
    with pytest.raises(gb.EngineError, match="beyond all numbers") as caught:
        scene.step()
    place, rotation = pybullet.getBasePositionAndOrientation(body_id, client)
    assert np.isfinite([*place, *rotation]).all() == comes_back
    assert ("were put back" in str(caught.value)) == comes_back
    assert ("restore a state" in str(caught.value)) != comes_back
    scene.restore_state(state)
    scene.step()
    assert np.isfinite(scene.node_matrices).all()


HUGE = 10**400
"""JSON and Python hold it; floats do not."""


@pytest.mark.parametrize(
    "call",
    [
        lambda scene: scene.ray_cast((HUGE, 0, 0), (0, 0, 0)),
        lambda scene: scene.set_drive_targets([HUGE]),
        lambda scene: scene.set_drive_targets({"HingeOnDoor": HUGE}),
        lambda scene: scene.joints["HingeOnDoor"].set_position(HUGE),
        lambda scene: scene.joints["HingeOnDoor"].set_position(1e300),
        lambda scene: scene.joints["HingeOnDoor"].set_gains(HUGE, 1.0),
        lambda scene: scene.joints["HingeOnDoor"].set_gains(1.0, 1e300),
        lambda scene: scene.bodies["Door"].apply_force([HUGE, 0, 0]),
        lambda scene: scene.bodies["Door"].apply_impulse([0, 0, 1e300]),
        lambda scene: setattr(scene.bodies["Door"], "position", [HUGE, 0, 0]),
        lambda scene: setattr(scene.bodies["Door"], "orientation", [HUGE, 0, 0, 1]),
        lambda scene: scene.inverse_kinematics("Door", [1e300, 0, 0]),
        lambda scene: scene.render(camera=gb.Camera.looking([HUGE, 0, 0], [0, 0, 0])),
        lambda scene: gb.load_gltf(ASSETS / "falling_box.gltf", scene.client_id, scale=HUGE),
        lambda scene: gb.load_gltf(
            ASSETS / "hinge_door.gltf", scene.client_id, position=[HUGE] * 3
        ),
        lambda scene: gb.record(scene, fps=HUGE),
        lambda _: gb.LoadOptions(density=HUGE),
    ],
)
def test_numbers_that_nothing_can_carry_are_refused(client: int, call: Any) -> None:
    """They ended in a bare OverflowError, or in a state that is not finite some steps later."""
    scene = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    with pytest.raises(ValueError, match="must be") as caught:
        call(scene)
    assert len(str(caught.value)) < 250
    scene.step()
    assert np.isfinite(scene.node_matrices).all()


def test_a_client_that_no_engine_has_is_not_connected() -> None:
    with pytest.raises(gb.EngineError, match="is not connected"):
        gb.step_world(HUGE)


def test_rays_without_an_end_are_refused(client: int) -> None:
    scene = gb.load_gltf(ASSETS / "hinge_door.gltf", client)
    with pytest.raises(ValueError, match="ends has 1 points; must be as many as starts, 2"):
        scene.ray_cast_batch([[0, 0, 1], [0, 0, 2]], [[0, 0, 0]])
