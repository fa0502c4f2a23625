"""Suggestions for names that are not known."""

from __future__ import annotations

import pickle

import pytest

from gltf_bullet.errors import UnknownNameError
from gltf_bullet.suggestions import did_you_mean, near_names

NODES = ("Cube", "Cube.001", "Floor", "HingeOnDoor", "HingeOnGate")


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Cubee", "Cube"),
        ("cube", "Cube"),
        ("cube001", "Cube.001"),
        ("flor", "Floor"),
        ("Hinge", "HingeOnDoor"),
        ("hinge_on_gate", "HingeOnGate"),
    ],
)
def test_the_nearest_name_comes_first(name: str, first: str) -> None:
    assert near_names(name, NODES)[0] == first


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert near_names("Wheel", NODES) == ()
    assert near_names("", NODES) == ()
    assert near_names("Cube", ()) == ()
    assert did_you_mean("Wheel", NODES) == ""


def test_every_spelling_is_named_once_and_no_more_than_asked_for() -> None:
    assert near_names("cube", ["Cube", "CUBE", "Cube"]) == ("Cube", "CUBE")
    assert len(near_names("part", [f"part{i}" for i in range(20)])) == 3


def test_the_end_of_a_message() -> None:
    assert did_you_mean("Cubee", ["Cube", "Floor"]) == "; did you mean 'Cube'?"
    assert did_you_mean("Hinge", NODES) == "; did you mean 'HingeOnDoor' or 'HingeOnGate'?"


def test_unknown_names_are_said_without_the_quotes_of_a_key_error() -> None:
    error = UnknownNameError("'Dor' names none; did you mean 'Door'?")
    assert isinstance(error, KeyError)
    assert str(error) == "'Dor' names none; did you mean 'Door'?"
    assert pickle.loads(pickle.dumps(error)).args == error.args  # noqa: S301
