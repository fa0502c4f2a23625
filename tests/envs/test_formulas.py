"""Terms that are written down say what plain formulas say; kernels and Python say the same."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.envs import EnvConfig, GltfEnv, StepContext, Term, terms
from gltf_bullet.envs.formulas import (
    FormulaMaker,
    at_most,
    choose,
    either,
    larger,
    less,
    root,
    smaller,
    squares,
    turned,
)
from gltf_bullet.numba_aot import addresses
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
]  # fmt: skip


@pytest.mark.parametrize(("term", "plain"), TERMS, ids=lambda x: type(x).__name__)
def test_a_term_is_its_plain_formula(term: Term, plain: Plain) -> None:
    env = GltfEnv(WALKER, replace(WALK, rewards=term, terminations=(), max_episode_steps=None))
    env.reset(seed=2)
    for action in pushes(8, 8):
        _, reward, *_ = env.step(action)
        assert reward == pytest.approx(plain(env.scene, action.astype(np.float64)), abs=1e-9)
    env.close()


@pytest.mark.parametrize(("term", "plain"), TERMS, ids=lambda x: type(x).__name__)
def test_a_term_ends_the_episode_where_its_value_is_not_zero(term: Term, plain: Plain) -> None:
    config = replace(WALK, rewards=(), terminations=term, max_episode_steps=None)
    env = GltfEnv(WALKER, config)
    env.reset(seed=2)
    for action in pushes(8, 8):
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
    return tuple(term for term, _ in TERMS)


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
