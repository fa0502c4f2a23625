"""Pairs of links that must not meet, for what collision masks cannot say.

PyBullet cannot delete a pair rule, rules outlive their bodies, and body ids are used again
(measured): a rule is therefore turned back on removal, so that a later body of the caller with the
same id collides as usual. It then says "these collide", which PyBullet heeds before groups and
masks (measured): where both ids come back as ours, links that must not meet get a rule of their
own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import chain

import pybullet

from gltf_bullet.bullet.session import EngineLink, EngineSession

__all__ = ["LeftRules", "PairRules", "left_rules"]


class LeftRules:
    """Rules of a world that were turned back: they say that links with such ids collide."""

    def __init__(self) -> None:
        self._partners: dict[EngineLink, set[EngineLink]] = {}
        self.across: dict[int, dict[PairRules, list[tuple[EngineLink, EngineLink]]]] = {}
        """Pairs of scenes with bodies of others, by these."""

    def add(self, one: EngineLink, other: EngineLink) -> None:
        """A rule was turned back."""
        self._partners.setdefault(one, set()).add(other)
        self._partners.setdefault(other, set()).add(one)

    def discard(self, one: EngineLink, other: EngineLink) -> None:
        """It forbids again."""
        self._partners.get(one, set()).discard(other)
        self._partners.get(other, set()).discard(one)

    @property
    def are_any(self) -> bool:
        """Whether there ever was one."""
        return bool(self._partners)

    def of(self, links: Iterable[EngineLink]) -> list[tuple[EngineLink, EngineLink]]:
        """Pairs of one of some links and any other."""
        return [(link, other) for link in links for other in sorted(self._partners.get(link, ()))]

    def forbid_across(self, rules: PairRules, own: EngineLink, other: EngineLink) -> None:
        """Forbid what ``rules`` has to forget when the body of ``other`` goes."""
        rules.forbid([(own, other)])
        self.across.setdefault(other[0], {}).setdefault(rules, []).append((own, other))

    def part(self, rules: PairRules, body_ids: Collection[int]) -> None:
        """The bodies of a scene go, and its ``rules`` with them.

        Whoever gets the ids has nothing to do with the rules of others against them.
        """
        for body_id in body_ids:
            for others, pairs in self.across.pop(body_id, {}).items():
                others.allow(pairs)
        for body_id, known in tuple(self.across.items()):
            known.pop(rules, None)
            if not known:
                del self.across[body_id]


def left_rules(_session: EngineSession) -> LeftRules:
    """Those of a world; to be asked for by ``session.shared``."""
    return LeftRules()


class PairRules:
    """The pair rules of one scene."""

    def __init__(self, session: EngineSession) -> None:
        self._client_id = session.client_id
        self.left = session.shared(left_rules)
        """Of the world."""
        self._forbidden: set[tuple[EngineLink, EngineLink]] = set()
        self._trusted: tuple[Iterable[tuple[EngineLink, EngineLink]], ...] = ()

    def trust(self, *pairs: Iterable[tuple[EngineLink, EngineLink]]) -> None:
        """The engine keeps these pairs from colliding by itself, as long as the bodies exist.

        A rule costs a search through the world's pairs (80 us each beside some 20 robots).
        """
        self._trusted = pairs

    @cached_property
    def _apart(self) -> frozenset[tuple[EngineLink, EngineLink]]:
        """Pairs that the engine keeps from colliding by itself: of a copy, nobody may ask."""
        return frozenset((min(pair), max(pair)) for pair in chain.from_iterable(self._trusted))

    def forbid(self, pairs: Iterable[tuple[EngineLink, EngineLink]]) -> None:
        """Keep pairs of links from colliding; known ones are not written again.

        Writing an unchanged rule once more changes the trajectory (measured).
        """
        for first, second in pairs:
            pair = (first, second) if first <= second else (second, first)
            if first != second and pair not in self._forbidden and pair not in self._apart:
                self._forbidden.add(pair)
                self._write(pair, enable=False)

    def allow(self, pairs: Iterable[tuple[EngineLink, EngineLink]]) -> None:
        """Take rules back."""
        for first, second in pairs:
            pair = (first, second) if first <= second else (second, first)
            if pair in self._forbidden:
                self._forbidden.discard(pair)
                self._write(pair, enable=True)

    def forbids(self, one: EngineLink, other: EngineLink) -> bool:
        """Whether two links may not meet."""
        pair = (min(one, other), max(one, other))
        return pair in self._forbidden or pair in self._apart

    def release(self, body_ids: Collection[int]) -> None:
        """Take all rules back: the ids of the scene's bodies are given out again.

        Called when the bodies are gone it looks for none of their pairs (measured: 0.6 us a rule
        instead of 11 to 40 in a world of 300 scenes).
        """
        if self._forbidden and pybullet.isConnected(self._client_id):
            self.allow(tuple(self._forbidden))
        if self.left.across:
            self.left.part(self, body_ids)

    def _write(self, pair: tuple[EngineLink, EngineLink], *, enable: bool) -> None:
        (self.left.add if enable else self.left.discard)(*pair)
        (body_a, link_a), (body_b, link_b) = pair
        pybullet.setCollisionFilterPair(
            body_a, body_b, link_a, link_b, int(enable), physicsClientId=self._client_id
        )
