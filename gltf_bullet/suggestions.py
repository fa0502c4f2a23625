"""Suggestions of similar names, for messages about an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

SIMILAR: Final = 0.6
"""Share of common characters from which on two names are similar: the default of difflib."""


def near_names(
    name: str, known: Iterable[str], count: int = 3, similar: float = SIMILAR
) -> tuple[str, ...]:
    """The names of ``known`` that are most similar to ``name``, best first; at most ``count``.

    Upper and lower case count as equal, and ``_``, ``-`` and blanks do not count: ``hull reduced``
    is similar to ``HULL_REDUCED``. So is a name that contains the wanted one: ``hinge`` finds
    ``HingeOnDoor``. ``similar`` is the least share of common characters.
    """
    wanted = _folded(name)
    if not wanted:
        return ()
    matcher = SequenceMatcher(b=wanted)  # keeps what it learnt about b between candidates
    similarity: dict[str, float] = {}
    for candidate in dict.fromkeys(known):
        folded = _folded(candidate)
        matcher.set_seq1(folded)
        if wanted in folded or (
            matcher.quick_ratio() >= similar  # an upper bound, and cheap
            and matcher.ratio() >= similar
        ):
            similarity[candidate] = matcher.ratio()
    return tuple(sorted(similarity, key=lambda near: -similarity[near])[:count])


def did_you_mean(name: str, known: Iterable[str], similar: float = SIMILAR) -> str:
    """End of a message: ``"; did you mean 'Cube' or 'Cone'?"``, or ``""`` without similar names."""
    near = near_names(name, known, similar=similar)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")
