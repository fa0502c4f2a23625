"""The page of terms is what the dataclasses of the environments say."""

from __future__ import annotations

from pathlib import Path

import pytest

from gltf_bullet.envs import terms
from tools.terms_page import (
    CONFIG,
    PAGE,
    TERMS,
    Described,
    described_classes,
    introduction_of,
    terms_page,
)

DESCRIBED = [*described_classes(TERMS).values(), *described_classes(CONFIG).values()]


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == terms_page(introduction_of(page)), "out of date: run python -m tools.terms_page"


def test_every_public_term_is_on_the_page() -> None:
    public = {
        name
        for name, value in vars(terms).items()
        if isinstance(value, type) and value.__module__ == terms.__name__ and name[0] != "_"
    }
    assert set(described_classes(TERMS)) == public


@pytest.mark.parametrize("item", DESCRIBED, ids=lambda item: item.name)
def test_every_field_is_described(item: Described) -> None:
    assert item.what
    assert [name for name, _, what in item.fields if not what] == []


def test_a_class_is_read_as_it_is_written(tmp_path: Path) -> None:
    source = tmp_path / "some.py"
    source.write_text(
        'class Some:\n    """A :class:`~a.b.Thing`."""\n\n'
        '    near: int\n    """``None | 1``\n    lines."""\n'
        "    far: dict = field(default_factory=dict)\n"
        '    def formula(self):\n        """What it gives."""\n'
    )
    (some,) = described_classes(source).values()
    assert some.what == "A `Thing`."
    assert some.result == "What it gives."
    assert some.fields == (
        ("near", "required", "`None \\| 1` lines."),
        ("far", "`dict()`", ""),
    )
