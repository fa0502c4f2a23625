"""Values that are made when somebody asks for them."""

from __future__ import annotations

import copy

from gltf_bullet.later import Later


def test_a_value_is_made_once_and_only_if_asked_for() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(1)
        return 7

    later = Later(make)
    assert made == []
    assert [later(), later()] == [7, 7]
    assert made == [1]


def test_a_known_value_is_there_and_is_copied_as_it_is() -> None:
    assert Later.known(None)() is None
    assert copy.copy(Later(lambda: [1, 2]))() == [1, 2]
