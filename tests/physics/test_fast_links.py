"""Bodies on joints do not pass through what they hit, and loops stay closed, at any rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import gltf_bullet as gb
from gltf_bullet.bullet.exchange.library import SWITCH
from gltf_bullet.bullet.joints.solving import scene_islands
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.solver.outcomes import NOT_CONVERGED
from gltf_bullet.solver.scene_table import SOLVE_FINISH
from tests.physics.rings import even_ring
from tests.physics.scenes import Jointed, world

SIZE = 0.1
"""[m] of the sliders."""


def two_slides(speed: float, *, collides: bool = True) -> tuple[bytes, list[int]]:
    """Boxes 1 m apart on the X axis whose drives of 1 kN shoot them at each other."""
    scenery = Jointed()
    box = scenery.shape("box", size=[SIZE] * 3)
    alone = None
    if not collides:
        alone = scenery.entry(
            "collisionFilters", collisionSystems=["a"], notCollideWithSystems=["a"]
        )
    bodies = []
    for side in (-1.0, 1.0):
        at = (0.5 * side, 0.0, 0.0)
        body = scenery.node(
            f"Slide{len(bodies)}", at=at, shape=box, collision_filter=alone, motion={"mass": 1.0}
        )
        rail = scenery.node(f"Rail{len(bodies)}", at=at)
        scenery.join(
            rail,
            scenery.attachment(body, (0.0, 0.0, 0.0)),
            limits=[
                {"linearAxes": [1, 2], "min": 0.0, "max": 0.0},
                {"angularAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
            ],
            drives=[
                {
                    "type": "linear", "mode": "force", "axis": 0, "velocityTarget": -side * speed,
                    "damping": 1e4, "maxForce": 1e3,
                }
            ],
        )  # fmt: skip
        bodies.append(body)
    return scenery.bytes(), bodies


def distance(scene: gb.Scene, bodies: Sequence[int]) -> float:
    """Of the second slide from the first one, along X [m]."""
    first, second = (float(scene.world_from_node(body)[0, 3]) for body in bodies)
    return second - first


@pytest.mark.parametrize("rate", [60, 120, 240])
@pytest.mark.parametrize("speed", [10.0, 20.0, 50.0])
def test_two_driven_slides_meet_and_do_not_pass(speed: float, rate: int) -> None:
    content, bodies = two_slides(speed)
    with world(content, rate=rate) as scene:
        apart = []
        for _ in range(rate // 2):
            scene.step()
            apart.append(distance(scene, bodies))
    # Slower ones than half their size in a step are the engine's own business.
    assert min(apart) > 0.5 * SIZE
    assert apart[-1] == pytest.approx(SIZE, abs=1e-3)


def test_slides_that_a_filter_keeps_apart_pass_each_other() -> None:
    content, bodies = two_slides(50.0, collides=False)
    with world(content, rate=60) as scene:
        scene.step(30)
        # 0.5 s, less what it takes 1 kN to bring 1 kg to 50 m/s.
        assert distance(scene, bodies) == pytest.approx(1.0 - 2 * 50.0 * (0.5 - 0.025), rel=0.05)


def test_a_replay_of_slides_that_meet_is_the_same_to_the_bit() -> None:
    content, bodies = two_slides(50.0)
    with world(content, rate=60) as scene:
        for _ in range(60):
            scene.step()
            if distance(scene, bodies) < 1.5 * SIZE:
                break
        state = scene.save_state()
        scene.step(20)
        first = scene.node_matrices.tobytes()
        scene.restore_state(state)
        scene.step(20)
        assert scene.node_matrices.tobytes() == first


@pytest.mark.parametrize("rate", [60, 120, 240])
def test_a_door_slammed_on_a_ball_takes_it_along(rate: int) -> None:
    """A door of 1 m and 5 kg at 20 rad/s meets 1 kg at 0.8 m: momentum about the hinge is kept."""
    spin, ball_mass, arm = 20.0, 1.0, 0.8
    scenery = Jointed()
    panel = scenery.shape("box", size=[1.0, 1.0, 0.04])
    door = scenery.node(
        "Door", at=(0.5, 0.0, 0.0), shape=panel,
        motion={
            "mass": 5.0, "angularVelocity": [0.0, spin, 0.0],
            "linearVelocity": [0.0, 0.0, -0.5 * spin],
        },
    )  # fmt: skip
    post = scenery.node("Post")
    scenery.join(
        post,
        scenery.attachment(door, (-0.5, 0.0, 0.0)),
        limits=[
            {"linearAxes": [0, 1, 2], "min": 0.0, "max": 0.0},
            {"angularAxes": [0, 2], "min": 0.0, "max": 0.0},
        ],
    )
    angle = math.radians(60.0)
    ball = scenery.node(
        "Ball", at=(arm * math.cos(angle), 0.0, -arm * math.sin(angle)),
        shape=scenery.shape("sphere", radius=0.05), motion={"mass": ball_mass},
    )  # fmt: skip
    with world(scenery.bytes(), rate=rate, gravity=0.0) as scene:
        speed, steps = 0.0, 0
        while speed < 1.0 and steps < rate // 4:
            scene.step()
            steps += 1
            speed = float(np.linalg.norm(scene.bodies[ball].linear_velocity))
        after = float(scene.bodies[door].angular_velocity[1])
    inertia = 5.0 * (1.0**2 + 0.04**2) / 12.0 + 5.0 * 0.5**2
    # What does not rebound goes on together, until the ball slides outwards on the door.
    together = inertia * spin / (inertia + ball_mass * arm**2)
    assert after == pytest.approx(together, rel=0.06)
    assert speed == pytest.approx(arm * together, rel=0.06)
    assert inertia * after + ball_mass * arm * speed == pytest.approx(inertia * spin, rel=0.03)


@pytest.mark.parametrize("rate", [60, 240])
def test_a_ring_that_falls_on_its_edge_stays_closed(rate: int) -> None:
    """Measured before loops were closed after the step: 55 mm at 60 Hz, 6 at 240."""
    content, pairs = even_ring()
    with world(content, rate=rate) as scene:
        widest, lowest = 0.0, math.inf
        for _ in range(2 * rate):
            scene.step()
            matrices = scene.node_matrices
            gaps = [matrices[a, :3, 3] - matrices[b, :3, 3] for a, b in pairs]
            widest = max(widest, float(np.linalg.norm(gaps, axis=1).max()))
            lowest = min(lowest, *(float(b.center_of_mass[1]) for b in scene.bodies.values()))
    assert widest < 1e-3
    # Bars of 40 mm at 4 m/s and 60 Hz.
    assert lowest > -0.07


def test_steps_that_are_too_long_are_divided_and_named_once() -> None:
    """A light bar on a ball joint, thrown about by a heavy one that hits it at 30 Hz."""
    content, _ = even_ring()
    with world(content, rate=30) as scene:
        scene.step(90)
        found = [issue for issue in scene.issues if issue.code == "STEP_DIVIDED"]
    assert len(found) == 1
    assert "0.0333 s" in found[0].message


def test_forces_that_were_not_found_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known that the solve does not settle for: its report is made up."""
    solve = scene_islands.solve
    monkeypatch.setenv(SWITCH, "0")

    def unsettled(table: IntTable, stages: int, *arguments: object) -> int:
        islands = scene.core.world.articulations.solver.islands
        found = int(solve(table, stages, *arguments))  # type: ignore[arg-type]
        islands.record.unconverged_label = 0
        return found | NOT_CONVERGED if stages & SOLVE_FINISH else found

    content, bodies = two_slides(1.0)
    with world(content, rate=60) as scene:
        monkeypatch.setattr(scene_islands, "solve", unsettled)
        scene.step(3)
        [issue] = [issue for issue in scene.issues if issue.code == "FORCES_NOT_FOUND"]
    assert issue.pointer == f"/nodes/{bodies[0]}"
