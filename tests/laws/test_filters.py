"""The filter rule: both sides must admit the other, any system in common is enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gltf_bullet.model import CollisionFilter, may_collide

NAMES = st.frozensets(st.sampled_from(["a", "b", "c"]))
FILTERS = st.none() | st.builds(
    CollisionFilter,
    systems=NAMES,
    collide_with=st.none() | NAMES,
    not_collide_with=st.none() | NAMES,
)
UNIVERSE = frozenset({"a", "b", "c"})


@given(FILTERS, FILTERS)
def test_the_rule_is_symmetric(a: CollisionFilter | None, b: CollisionFilter | None) -> None:
    assert may_collide(a, b) == may_collide(b, a)


@given(FILTERS)
def test_a_collider_without_systems_is_admitted_by_everybody(a: CollisionFilter | None) -> None:
    assert may_collide(a, None)
    assert may_collide(a, CollisionFilter())


@given(NAMES, NAMES, NAMES)
def test_the_negative_list_is_the_complement_of_the_positive_one(
    systems: frozenset[str], listed: frozenset[str], others: frozenset[str]
) -> None:
    """ "Given all systems, the unspecified field can be calculated as the inverse of the other"."""
    without = CollisionFilter(systems=systems, not_collide_with=listed)
    only = CollisionFilter(systems=systems, collide_with=UNIVERSE - listed)
    other = CollisionFilter(systems=others)
    assert may_collide(without, other) == may_collide(only, other)


@given(NAMES, NAMES, NAMES)
def test_with_both_lists_both_must_admit_the_other(
    admitted: frozenset[str], refused: frozenset[str], others: frozenset[str]
) -> None:
    both = CollisionFilter(collide_with=admitted, not_collide_with=refused)
    other = CollisionFilter(systems=others)
    assert may_collide(both, other) == (
        may_collide(CollisionFilter(collide_with=admitted), other)
        and may_collide(CollisionFilter(not_collide_with=refused), other)
    )


def test_the_published_ground_in_two_systems_carries_bodies_that_list_one() -> None:
    ground = CollisionFilter(systems=frozenset({"0", "1"}))
    body = CollisionFilter(systems=frozenset({"2"}), collide_with=frozenset({"0"}))
    stranger = CollisionFilter(systems=frozenset({"2"}), collide_with=frozenset({"3"}))
    assert may_collide(ground, body)
    assert not may_collide(ground, stranger)
