"""The first law, for scenes that nobody has thought of: closed systems keep their momentum.

Expected is nothing but the law, and what the engine alone makes of the same bodies: it keeps the
momentum of free bodies exactly, that of jointed ones in proportion to its step.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.figures import Figure
from tests.laws.closed_systems import (
    doll,
    engine_alone,
    follow,
    gas,
    ledger,
    overlapping,
    three_boxes,
    touching,
)

RATES = (60.0, 240.0)
SEEDS = [range(3), pytest.param(range(3, 10), marks=pytest.mark.slow)]
EXIT_SPEED = 0.1
"""[m/s] At most, of who was put into others."""
SYSTEMS = {"overlapping": overlapping, "touching": touching, "gas": gas}


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("seeds", SEEDS)
def test_free_bodies_keep_what_they_have(
    kind: str, rate: float, seeds: range, figure: Figure
) -> None:
    """0.92 of all that moved came from nothing, of bodies that were pushed apart after the step.

    The engine alone makes up to nine times the energy of bodies that begin in each other.
    """
    make = SYSTEMS[kind]
    found = {seed: follow(make(seed), rate) for seed in seeds}
    worst = max(course.momentum_error for course in found.values())
    figure(f"momentum of {kind} bodies at {rate:g} Hz", worst, most=1e-9, unit="of m |v|")
    if kind == "overlapping":
        worst = max(course.fastest for course in found.values())
        figure(f"exit from overlaps at {rate:g} Hz", worst, most=EXIT_SPEED, unit="m/s")
    else:
        worst = max(course.energy_ratio for course in found.values())
        figure(f"energy of {kind} bodies at {rate:g} Hz", worst, most=1.01, unit="of the start")
    for seed, course in found.items():
        if course.angular_error > (0.002 if rate > 60.0 else 0.01):
            # Where friction acts across a depth, the engine alone turns bodies: no more than that.
            alone = follow(make(seed), rate, engine_alone)
            assert course.angular_change <= 1.05 * alone.angular_change + 1e-3


@pytest.mark.parametrize("rate", RATES)
def test_three_boxes_in_each_other_part_slowly(rate: float) -> None:
    """They left at 6.3 m/s, with 18.9 kg m/s from nothing."""
    with three_boxes(rate) as scene:
        fastest = 0.0
        for _ in range(round(rate)):
            scene.step()
            fastest = max(fastest, ledger(scene).fastest)
        assert np.linalg.norm(ledger(scene).momentum) < 1e-9
    assert 0.0 < fastest <= EXIT_SPEED


@pytest.mark.parametrize(("rate", "most"), [(60.0, 0.03), (120.0, 0.02), (240.0, 0.01)])
@pytest.mark.parametrize("seeds", SEEDS)
def test_jointed_bodies_keep_their_momentum(
    rate: float, most: float, seeds: range, figure: Figure
) -> None:
    """Dolls with limits and cones whose limbs do not collide; the engine alone loses up to all."""
    found = [follow(doll(seed, solid=False), rate) for seed in seeds]
    figure(
        f"momentum of dolls at {rate:g} Hz",
        max(course.momentum_error for course in found), most=most, unit="of m |v|",
    )  # fmt: skip
    figure(
        f"angular momentum of dolls at {rate:g} Hz",
        max(course.angular_error for course in found), most=2.0 * most, unit="of all that turns",
    )  # fmt: skip


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("seeds", SEEDS)
def test_jointed_bodies_that_collide_keep_it_better_than_the_engine_alone(
    rate: float, seeds: range
) -> None:
    for seed in seeds:
        ours, alone = follow(doll(seed), rate), follow(doll(seed), rate, engine_alone)
        assert ours.momentum_error <= max(alone.momentum_error, 0.03)
        assert ours.energy_ratio <= max(alone.energy_ratio, 1.03)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_closed_system_moves_the_same_elsewhere(kind: str) -> None:
    """Shifted by 100 m and turned, what it holds is the same, as far as chaos lets it."""
    source = SYSTEMS[kind](3)
    here = follow(source, 240.0, duration=0.25)
    there = follow(
        source, 240.0, duration=0.25, position=(100.0, -50.0, 20.0),
        orientation=(0.5, 0.5, 0.5, 0.5),
    )  # fmt: skip
    assert there.momentum_error < 1e-9
    assert there.fastest == pytest.approx(here.fastest, rel=0.05, abs=0.02)
