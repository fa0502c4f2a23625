"""Rules for pairs of links that must not collide, where collision masks cannot express it.

PyBullet cannot delete a pair rule, rules outlive their bodies, and body ids are used again
(measured): a rule is therefore reversed on removal, so that a later body of the caller with the
same id collides as usual. It then says "these collide", which takes precedence over groups and
masks (measured): where both ids come back as ours, links that must not collide get a rule of their
own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

import pybullet

from gltf_bullet.bullet.session import EngineLink, EngineSession
from gltf_bullet.cached_properties import cached_property


class LeftRules:
    """Reversed rules of a world: they say that links with these ids collide."""

    def __init__(self) -> None:
        self._partners: dict[EngineLink, set[EngineLink]] = {}
        self.across: dict[int, dict[PairRules, list[tuple[EngineLink, EngineLink]]]] = {}
        """Rules between scenes, by body id of one side and rules of the other."""

    def add(self, one: EngineLink, other: EngineLink) -> None:
        """Record a rule that was reversed."""
        self._partners.setdefault(one, set()).add(other)
        self._partners.setdefault(other, set()).add(one)

    def discard(self, one: EngineLink, other: EngineLink) -> None:
        """Forget a rule that forbids again."""
        self._partners.get(one, set()).discard(other)
        self._partners.get(other, set()).discard(one)

    @property
    def are_any(self) -> bool:
        """True if a rule was ever reversed."""
        return bool(self._partners)

    def of(self, links: Iterable[EngineLink]) -> list[tuple[EngineLink, EngineLink]]:
        """Return the recorded pairs of some links with any other."""
        return [(link, other) for link in links for other in sorted(self._partners.get(link, ()))]

    def forbid_across(self, rules: PairRules, own: EngineLink, other: EngineLink) -> None:
        """Forbid a pair; ``rules`` allows it again when the body of ``other`` is removed."""
        rules.forbid([(own, other)])
        self.across.setdefault(other[0], {}).setdefault(rules, []).append((own, other))

    def part(self, rules: PairRules, body_ids: Collection[int]) -> None:
        """Remove ``rules`` and the rules of others against the bodies of a removed scene.

        A later body with one of these ids has nothing to do with them.
        """
        for body_id in body_ids:
            for others, pairs in self.across.pop(body_id, {}).items():
                others.allow(pairs)
        for body_id, known in tuple(self.across.items()):
            known.pop(rules, None)
            if not known:
                del self.across[body_id]


def left_rules(_session: EngineSession) -> LeftRules:
    """Create the record of a world; for ``session.shared``."""
    return LeftRules()


class PairRules:
    """The pair rules of one scene."""

    def __init__(self, session: EngineSession) -> None:
        self._client_id = session.client_id
        self.left = session.shared(left_rules)
        """Reversed rules of the world."""
        self._forbidden: set[tuple[EngineLink, EngineLink]] = set()
        self._trusted: tuple[Iterable[tuple[EngineLink, EngineLink]], ...] = ()

    def trust(self, *pairs: Iterable[tuple[EngineLink, EngineLink]]) -> None:
        """Accept pairs that the engine keeps from colliding by itself, as long as the bodies exist.

        A rule costs a search through the world's pairs (80 us each beside some 20 robots).
        """
        self._trusted = pairs

    @cached_property
    def _apart(self) -> frozenset[tuple[EngineLink, EngineLink]]:
        """Pairs that the engine keeps from colliding by itself; built on first use."""
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
        """Remove rules for pairs of links."""
        for first, second in pairs:
            pair = (first, second) if first <= second else (second, first)
            if pair in self._forbidden:
                self._forbidden.discard(pair)
                self._write(pair, enable=True)

    def forbids(self, one: EngineLink, other: EngineLink) -> bool:
        """Return True if two links may not collide."""
        pair = (min(one, other), max(one, other))
        return pair in self._forbidden or pair in self._apart

    def release(self, body_ids: Collection[int]) -> None:
        """Remove all rules, because the ids of the scene's bodies are used again.

        Called after the removal of the bodies it searches for none of their pairs (measured: 0.6 us
        a rule instead of 11 to 40 in a world of 300 scenes).
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
