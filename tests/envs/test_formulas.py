"""Terms that are written down say what plain formulas say; kernels and Python say the same."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.envs import EnvConfig, GltfEnv, StepContext, Term, terms
from gltf_bullet.envs.formulas import (
    FormulaMaker,
    angle,
    at_most,
    choose,
    either,
    larger,
    less,
    root,
    size,
    smaller,
    squares,
    turned,
    turned_back,
)
from gltf_bullet.numba_aot import addresses
from gltf_bullet.records import replace
from gltf_bullet.solver import formulas as kernels
from gltf_bullet.transforms import FloatArray
from tests.envs.assets import BALANCE, CART_POLE, WALK, WALKER, pushes, roll

Plain = Callable[[gb.Scene, FloatArray], float]

NAN = math.nan
OPERATIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda a, b, _: a + b + 1.0,
    "difference": lambda a, b, _: 1.0 - (a - b) - 2.0,
    "product": lambda a, b, _: 3.0 * a * b,
    "negative": lambda a, b, c: -(a + b + c),
    "less": lambda a, b, _: less(a, b),
    "at most": lambda a, b, _: at_most(a, b),
    "either": lambda a, b, _: either(a, b),
    "smaller": lambda a, b, _: smaller(a, b),
    "larger": lambda a, b, _: larger(a, b),
    "choose": choose,
    "root": lambda a, _b, _c: root(a),
    "squares": lambda *numbers: squares(numbers),
    "angle": lambda a, b, _: angle(a, b),
    "size": lambda a, _b, _c: size(a),
    "turned back": lambda a, b, c: turned_back((0.5, -0.5, 0.5, 0.5), (a, b, c))[2],
    "turned": lambda a, b, c: turned((0.5, -0.5, 0.5, 0.5), (a, b, c))[0],
}
OPERANDS = [(1.5, 2.0, -3.0), (2.0, 2.0, 1.0), (0.0, -0.0, 7.0), (-4.0, 0.0, 1e300)]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("operands", OPERANDS)
def test_what_is_written_down_is_what_numbers_give(
    name: str, operands: tuple[float, float, float]
) -> None:
    found = evaluate(OPERATIONS[name], operands)
    assert found == OPERATIONS[name](*operands)


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("angle", (1.0, -1.0, 0.0), 0.75 * math.pi),
        ("size", (-3.0, 0.0, 0.0), 3.0),
        ("root", (9.0, 0.0, 0.0), 3.0),
        ("root", (-9.0, 0.0, 0.0), 0.0),
        ("less", (1.0, 1.0, 0.0), 0.0),
        ("at most", (1.0, 1.0, 0.0), 1.0),
        ("less", (NAN, 1.0, 0.0), 0.0),
        ("at most", (1.0, NAN, 0.0), 0.0),
        ("either", (0.0, 0.0, 0.0), 0.0),
        ("either", (0.0, -2.0, 0.0), 1.0),
        ("choose", (0.0, 5.0, 6.0), 6.0),
        ("choose", (0.1, 5.0, 6.0), 5.0),
        ("smaller", (1.0, 2.0, 0.0), 1.0),
        ("larger", (1.0, 2.0, 0.0), 2.0),
        ("squares", (1.0, 2.0, -3.0), 14.0),
    ],
)
def test_operations_give_what_their_names_say(
    name: str, operands: tuple[float, float, float], result: float
) -> None:
    assert evaluate(OPERATIONS[name], operands) == result


def evaluate(formula: Callable[..., Any], operands: tuple[float, ...]) -> float:
    maker = FormulaMaker()
    place = maker.place_of(formula(*[maker.number(value) for value in operands]))
    operations, numbers = maker.made()
    copy = np.zeros((1, kernels.COPY.size), dtype=np.int64)
    shown: FloatArray = np.zeros(1)
    kept = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), numbers, operations,
            np.array([place], dtype=np.int64), np.zeros(0, dtype=np.int64))  # fmt: skip
    copy[0, : kernels.COPY.is_read] = addresses(*kept)
    assert kernels.observe(copy, shown, 0, 1) == 0
    return float(shown[0])


def test_a_formula_without_a_value_is_no_condition() -> None:
    with pytest.raises(TypeError, match="no value yet"):
        bool(FormulaMaker().number())


def place(scene: gb.Scene, node: str) -> FloatArray:
    return scene.world_from_node(node)[:3, 3]


def hip(scene: gb.Scene) -> float:
    (dof,) = scene.joints["FrontLeftHip"].degrees_of_freedom
    return float(dof.state.position[0])


def axes(scene: gb.Scene, node: str) -> FloatArray:
    """Axes of a node without scale, as columns."""
    return scene.world_from_node(node)[:3, :3]


def lean(scene: gb.Scene) -> float:
    return float(np.arccos(np.clip(axes(scene, "Torso")[2, 1], -1.0, 1.0)))


def touches(scene: gb.Scene, node: str) -> bool:
    found = scene.contacts(node)
    return bool((found.normal_forces > 0.0).any())


TERMS: list[tuple[Term, Plain]] = [
    (terms.Alive(weight=0.5), lambda *_: 0.5),
    (
        terms.Distance(node="Torso", target="FrontLeftShin", weight=-2.0),
        lambda s, _: -2.0 * math.dist(place(s, "FrontLeftShin"), place(s, "Torso")),
    ),
    (terms.Height(node="BackLeftShin", weight=3.0), lambda s, _: 3.0 * place(s, "BackLeftShin")[2]),
    (terms.Height(node="Nose", axis=0), lambda s, _: place(s, "Nose")[0]),
    (
        terms.Speed(body="Torso", axis=1, weight=0.5),
        lambda scene, _: 0.5 * scene.bodies["Torso"].linear_velocity[1],
    ),
    (terms.Below(node="Torso", height=0.33), lambda s, _: float(place(s, "Torso")[2] < 0.33)),
    (
        terms.JointOutside(joint="FrontLeftHip", low=-0.1, high=0.05),
        lambda scene, _: float(not -0.1 <= hip(scene) <= 0.05),
    ),
    (terms.ControlCost(weight=-0.25), lambda _, action: -0.25 * float(action @ action)),
    (
        terms.Offset(node="Torso", target="FrontLeftShin", axis=1, weight=2.0),
        lambda s, _: 2.0 * (place(s, "FrontLeftShin") - place(s, "Torso"))[1],
    ),
    (
        terms.Offset(node="Torso", target="BackLeftShin", frame="FrontLeftShin", axis=0),
        lambda s, _: (
            axes(s, "FrontLeftShin").T @ (place(s, "BackLeftShin") - place(s, "Torso"))
        )[0],
    ),
    (
        terms.Near(node="Torso", target="FrontLeftShin", distance=0.345, weight=4.0),
        lambda s, _: (
            4.0 * (math.dist(place(s, "FrontLeftShin"), place(s, "Torso")) <= 0.345)
        ),
    ),
    (terms.Clearance(node="Torso", weight=2.0), lambda s, _: 2.0 * place(s, "Torso")[2]),
    (terms.Tilt(node="Torso", weight=-3.0), lambda s, _: -3.0 * lean(s)),
    (terms.Tipped(node="Torso", angle=0.04), lambda s, _: float(lean(s) > 0.04)),
    *(
        (
            terms.ProjectedGravity(node="FrontLeftShin", axis=axis),
            lambda s, _, axis=axis: -axes(s, "FrontLeftShin")[2, axis],
        )
        for axis in range(3)
    ),
    (
        terms.BodyVelocity(body="FrontLeftShin", axis=2, weight=0.5),
        lambda s, _: (
            0.5 * (axes(s, "FrontLeftShin").T @ s.bodies["FrontLeftShin"].linear_velocity)[2]
        ),
    ),
    (
        terms.BodySpin(body="Torso", axis=1),
        lambda s, _: (axes(s, "Torso").T @ s.bodies["Torso"].angular_velocity)[1],
    ),
    (terms.Contact(body="BackLeftShin", weight=0.5), lambda s, _: 0.5 * touches(s, "BackLeftShin")),
]  # fmt: skip


def throw(scene: gb.Scene, _: np.random.Generator) -> None:
    """It leans, turns and lands."""
    scene.apply_impulse("Torso", linear=(0.5, 0.3, 2.0), angular=(0.02, 0.03, 0.01))


FREE: dict[str, Any] = {"max_episode_steps": None, "on_reset": throw}


@pytest.mark.parametrize(("term", "plain"), TERMS, ids=lambda x: type(x).__name__)
def test_a_term_is_its_plain_formula(term: Term, plain: Plain) -> None:
    env = GltfEnv(WALKER, replace(WALK, rewards=term, terminations=(), **FREE))
    env.reset(seed=2)
    for action in pushes(12, 8):
        _, reward, *_ = env.step(action)
        assert reward == pytest.approx(plain(env.scene, action.astype(np.float64)), abs=1e-7)
    env.close()


@pytest.mark.parametrize(("term", "plain"), TERMS, ids=lambda x: type(x).__name__)
def test_a_term_ends_the_episode_where_its_value_is_not_zero(term: Term, plain: Plain) -> None:
    config = replace(WALK, rewards=(), terminations=term, **FREE)
    env = GltfEnv(WALKER, config)
    env.reset(seed=2)
    for action in pushes(12, 8):
        is_terminated = env.step(action)[2]
        assert is_terminated == (plain(env.scene, action.astype(np.float64)) != 0.0)
    env.close()


def double_height(scene: gb.Scene, context: StepContext) -> float:
    return 2.0 * context.sight.place("Torso")[2]


def third_step(scene: gb.Scene, context: StepContext) -> bool:
    return context.step == 3


def test_functions_of_ones_own_stand_beside_terms_of_the_library() -> None:
    config = EnvConfig(
        rewards=(terms.Height(node="Torso"), double_height, terms.Alive(weight=5.0)),
        terminations=(terms.Below(node="Torso", height=-1.0), third_step),
    )
    env = GltfEnv(WALKER, config)
    env.reset(seed=2)
    for k, action in enumerate(pushes(3, 8), 1):
        _, reward, is_terminated, _, _ = env.step(action)
        assert reward == pytest.approx(3.0 * place(env.scene, "Torso")[2] + 5.0)
        assert is_terminated == (k == 3)
    env.close()


def test_a_change_of_the_action_costs_and_zeros_come_first() -> None:
    env = GltfEnv(WALKER, replace(WALK, rewards=terms.ActionRate(weight=-2.0)))
    actions = pushes(4, 8)
    for _ in range(2):
        env.reset(seed=2)
        before = np.zeros(8)
        for action in actions.astype(np.float64):
            _, reward, *_ = env.step(action.astype(np.float32))
            assert reward == pytest.approx(-2.0 * float(((action - before) ** 2).sum()))
            before = action
    env.close()


def test_efforts_are_those_of_the_drives() -> None:
    # The cart's drive exerts 10 N times the action, whatever the cart does.
    costs = (terms.TorqueCost(weight=-2.0), terms.PowerCost(joints=("Slide",), weight=-0.5))
    for cost in costs:
        env = GltfEnv(CART_POLE, replace(BALANCE, rewards=cost, terminations=()))
        env.reset(seed=2)
        for action in pushes(6):
            _, reward, *_ = env.step(action)
            force = 10.0 * float(action[0])
            (slide,) = env.scene.joints["Slide"].degrees_of_freedom
            power = abs(force * slide.state.velocity[0])
            wanted = -2.0 * force * force if cost is costs[0] else -0.5 * power
            assert reward == pytest.approx(wanted, rel=1e-6)
        env.close()


def test_a_landing_is_paid_by_the_time_in_the_air() -> None:
    term = terms.AirTime(body="BackLeftShin", threshold=0.1, weight=10.0)
    config = replace(WALK, rewards=term, observed=(stood,), terminations=(), **FREE)
    env = GltfEnv(WALKER, config)
    for _ in range(2):
        observed, _ = env.reset(seed=2)
        assert observed[-1] == 0.0
        air, landings = 0.0, 0
        for _ in range(40):
            observed, reward, *_ = env.step(np.zeros(8, np.float32))
            if touches(env.scene, "BackLeftShin"):
                assert reward == pytest.approx(10.0 * (air - 0.1) if air else 0.0)
                landings += air > 0.0
                air = 0.0
            else:
                assert reward == 0.0
                air += 4.0 / 240.0
            assert observed[-1] == pytest.approx(air)
        assert landings > 0
    env.close()


def stood(_: gb.Scene, context: StepContext) -> float:
    return context.sight.stand("BackLeftShin").air_time


def test_an_end_is_paid_once_and_not_the_last_step_of_all() -> None:
    config = replace(
        WALK,
        rewards=(
            terms.Alive(),
            terms.Terminal(weight=-100.0),
            terms.Terminal(weight=-7.0, when=third_step),
            terms.Terminal(weight=-9.0, when=terms.Below(node="Torso", height=-1.0)),
        ),
        terminations=(third_step,),
        max_episode_steps=None,
    )
    env = GltfEnv(WALKER, config)
    env.reset(seed=2)
    found = [env.step(np.zeros(8, np.float32))[1:4] for _ in range(3)]
    assert found == [(1.0, False, False), (1.0, False, False), (-106.0, True, False)]
    env.close()
    env = GltfEnv(WALKER, replace(config, terminations=(), max_episode_steps=2))
    env.reset(seed=2)
    assert [env.step(np.zeros(8, np.float32))[1:4] for _ in range(2)] == [
        (1.0, False, False),
        (1.0, False, True),
    ]
    env.close()


def test_terms_are_observed_under_names_and_within_bounds() -> None:
    config = EnvConfig(
        joints=(), bodies=(),
        observed=(
            terms.ProjectedGravity(node="Torso"), terms.LastAction(), terms.Tilt(node="Torso"),
            terms.BodyVelocity(body="Torso", axis=2), double_height,
        ),
        on_reset=throw,
    )  # fmt: skip
    env = GltfEnv(WALKER, config)
    assert env.observation_names == (
        "ProjectedGravity Torso x", "ProjectedGravity Torso y", "ProjectedGravity Torso z",
        *(f"LastAction {k}" for k in range(8)),
        "Tilt Torso", "BodyVelocity Torso z", "double_height",
    )  # fmt: skip
    low = env.observation_space.low  # type: ignore[attr-defined]
    assert low.tolist() == [-1.0] * 11 + [-math.inf] * 3
    observed, _ = env.reset(seed=1)
    assert observed[:11] == pytest.approx([0.0, -1.0, 0.0, *[0.0] * 8], abs=1e-6)
    action = pushes(1, 8)[0]
    observed, *_ = env.step(action)
    scene = env.scene
    wanted = [*-axes(scene, "Torso")[2], *action, -lean(scene)]
    wanted += [(axes(scene, "Torso").T @ scene.bodies["Torso"].linear_velocity)[2]]
    assert observed == pytest.approx([*wanted, 2.0 * place(scene, "Torso")[2]], abs=1e-6)
    assert env.observation_space.contains(observed)
    env.close()
    parts = GltfEnv(WALKER, replace(config, flat=False))
    assert set(parts.observation_space.spaces) == {"terms"}  # type: ignore[attr-defined]
    shown, _ = parts.reset(seed=1)
    assert isinstance(shown, dict)
    assert shown["terms"].shape == (14,)
    parts.close()


def test_a_vector_is_no_reward() -> None:
    with pytest.raises(ValueError, match=r"rewards\[0\] BodyVelocity is a vector.*its axis"):
        GltfEnv(WALKER, EnvConfig(rewards=terms.BodyVelocity(body="Torso")))
    with pytest.raises(ValueError, match=r"terminations\[0\] LastAction is a vector"):
        GltfEnv(WALKER, EnvConfig(terminations=terms.LastAction()))
    nowhere = terms.Below(node="Torsi", height=1.0)
    with pytest.raises(KeyError, match=r"rewards\[1\] Below.node"):
        GltfEnv(WALKER, EnvConfig(rewards=terms.Terminal(weight=1.0, when=nowhere)))


def high(scene: gb.Scene, _: StepContext) -> bool:
    return bool(place(scene, "Torso")[2] > 0.4)


@pytest.mark.parametrize("success", [high, terms.Clearance(node="Nose", weight=0.0)])
def test_success_is_told_in_each_step(success: Term) -> None:
    env = GltfEnv(WALKER, EnvConfig(success=success, on_reset=throw))
    env.reset(seed=2)
    told = []
    for _ in range(10):
        _, _, is_over, _, info = env.step(np.zeros(8, np.float32))
        assert not is_over
        told.append(info["is_success"])
        assert told[-1] == (high(env.scene, None) if success is high else False)  # type: ignore[arg-type]
    assert (True in told) == (success is high)
    env.close()


COURSE = """
import json
from gltf_bullet.envs import GltfEnv
from gltf_bullet.numba_aot import is_compiled
from tests.envs import test_formulas as here
print(json.dumps([is_compiled(), here.course()]))
"""


def course() -> list[list[str]]:
    """Bits of observations and rewards of short episodes."""
    found = []
    for path, config in ((CART_POLE, BALANCE), (WALKER, replace(WALK, rewards=every_term()))):
        env = GltfEnv(path, config)
        seen, rewards = roll(env, pushes(3, *env.action_space.shape), 1)
        found.append([seen.tobytes().hex(), *map(float.hex, rewards)])
        env.close()
    return found


def every_term() -> tuple[Term, ...]:
    return (
        *(term for term, _ in TERMS),
        terms.ActionRate(),
        terms.TorqueCost(),
        terms.PowerCost(),
        terms.AirTime(body="BackLeftShin"),
    )


def test_kernels_and_plain_python_show_the_same_bits() -> None:
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    ran = subprocess.run(
        [sys.executable, "-c", COURSE], env=environment, check=True, capture_output=True, text=True
    )
    is_compiled, shown = json.loads(ran.stdout.splitlines()[-1])
    assert not is_compiled
    assert shown == course()
