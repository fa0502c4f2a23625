"""Only what changed is sent to the window; nothing is left behind. The window is a small fake."""

# ruff: noqa: N802, N803, ARG002  # PyBullet's names

from __future__ import annotations

import numpy as np
import pytest

from gltf_bullet.viewer import debug_draw
from gltf_bullet.viewer.debug_draw import DebugItems
from gltf_bullet.viewer.strokes import LONGEST_TEXT, Labels, Strokes, shown_text


class FakeWindow:
    """The debug items of PyBullet, and what they cost."""

    COV_ENABLE_RENDERING = 7
    error = RuntimeError

    def __init__(self) -> None:
        self.items: dict[int, tuple[object, ...]] = {}
        self.sent = 0
        self.rendering = [True]
        self.now = 0.0
        self.cost = 0.0
        self.lost: set[int] = set()
        """Of which calls the id does not come back, though the item stands."""
        self._next = 0

    def monotonic(self) -> float:
        return self.now

    def isConnected(self, client_id: int) -> bool:
        return True

    def configureDebugVisualizer(self, flag: int, on: int, physicsClientId: int) -> None:
        assert flag == self.COV_ENABLE_RENDERING
        self.rendering.append(bool(on))

    def _put(self, value: tuple[object, ...], known: int) -> int:
        assert known < 0 or known in self.items
        self.sent += 1
        self.now += self.cost
        if known < 0:
            known = self._next
            self._next += 1
        self.items[known] = value
        return -1 if self.sent in self.lost else known

    def addUserDebugLine(
        self, start, end, color, width, replaceItemUniqueId, physicsClientId
    ) -> int:
        return self._put((tuple(start), tuple(end), tuple(color)), replaceItemUniqueId)

    def addUserDebugText(
        self, text, position, color, size, replaceItemUniqueId, physicsClientId
    ) -> int:
        return self._put((text, tuple(position)), replaceItemUniqueId)

    def removeUserDebugItem(self, item: int, physicsClientId: int) -> None:
        del self.items[item]

    @property
    def lines(self) -> list[tuple[object, ...]]:
        return sorted(v for v in self.items.values() if len(v) == 3)


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> FakeWindow:
    fake = FakeWindow()
    monkeypatch.setattr(debug_draw, "pybullet", fake)
    monkeypatch.setattr(debug_draw, "time", fake)
    return fake


def lines(count: int, height: float = 0.0) -> Strokes:
    """Lines side by side along x."""
    starts = np.stack([np.arange(count), np.zeros(count), np.full(count, height)], axis=1)
    return Strokes.of(
        np.stack([starts, starts + np.array([0.0, 1.0, 0.0])], axis=1), (1.0, 0.0, 0.0)
    )


def expected(strokes: Strokes) -> list[tuple[object, ...]]:
    return sorted(
        (tuple(a), tuple(b), tuple(c))
        for (a, b), c in zip(strokes.segments.tolist(), strokes.colors.tolist(), strict=True)
    )


NOTHING = Labels.none()


def test_only_lines_that_changed_are_sent(window: FakeWindow) -> None:
    items = DebugItems(0, pause_rendering=True)
    first = lines(5)
    assert items.show(first, NOTHING, 0.01) == 5
    assert window.rendering == [True, False, True]
    assert items.show(first, NOTHING, 0.01) == 0
    assert window.rendering == [True, False, True]  # not even paused
    moved = Strokes(first.segments.copy(), first.colors.copy())
    moved.segments[3, 1, 2] = 0.5
    moved.colors[1] = (0.0, 1.0, 0.0)
    assert items.show(moved, NOTHING, 0.01) == 2
    assert window.lines == expected(moved)
    assert len(window.items) == 5


def test_slow_movement_is_seen_in_the_end(window: FakeWindow) -> None:
    items = DebugItems(0, pause_rendering=True)
    tolerance, step = 0.01, 0.004
    sent = [items.show(lines(1, step * k), NOTHING, tolerance) for k in range(7)]
    # Drawn at 0, then when it is more than the tolerance away from where it was drawn.
    assert sent == [1, 0, 0, 1, 0, 0, 1]


def test_surplus_lines_go_and_missing_ones_come(window: FakeWindow) -> None:
    items = DebugItems(0, pause_rendering=False)
    items.show(lines(5), NOTHING, 0.01)
    items.show(lines(2), NOTHING, 0.01)
    assert window.lines == expected(lines(2))
    items.show(lines(4), NOTHING, 0.01)
    assert window.lines == expected(lines(4))
    assert window.rendering == [True]  # a user who pauses himself is left alone
    items.clear()
    assert window.items == {}
    assert items.line_count == 0


def test_texts_are_replaced_and_removed_likewise(window: FakeWindow) -> None:
    items = DebugItems(0, pause_rendering=True)

    def words(*texts: str) -> Labels:
        places = np.arange(3.0 * len(texts)).reshape(-1, 3)
        return Labels(places, texts, np.zeros((len(texts), 3)))

    nothing = lines(0)
    assert items.show(nothing, words("a", "b"), 0.01) == 2
    assert items.show(nothing, words("a", "c"), 0.01) == 1
    assert sorted(v[0] for v in window.items.values()) == ["a", "c"]
    items.show(nothing, words("a"), 0.01)
    assert [v[0] for v in window.items.values()] == ["a"]
    items.show(nothing, NOTHING, 0.01)
    assert window.items == {}


def test_texts_are_what_the_window_can_show() -> None:
    # It finds glyphs by signed bytes: what is not ASCII would be read from outside of its table.
    assert shown_text("T\u00fcr 1\nopen\t\u4e2d") == "T?r 1 open??"
    assert len(shown_text("x" * 5000)) == LONGEST_TEXT


def test_a_slow_window_gets_its_lines_bit_by_bit(window: FakeWindow) -> None:
    items = DebugItems(0, pause_rendering=True)
    window.cost = 0.03
    most = int(debug_draw.BUDGET / window.cost) + 2
    calls = 0
    while items.show(lines(50), NOTHING, 0.01):
        calls += 1
        assert items.line_count <= calls * most
    assert 50 / most <= calls <= 50
    assert window.lines == expected(lines(50))
    # All of them move all the time: each is redrawn once before any is redrawn twice.
    seen: dict[object, int] = {}
    for k in range(1, 5):
        before = dict(window.items)
        items.show(lines(50, float(k)), NOTHING, 0.01)
        for item, value in window.items.items():
            seen[item] = seen.get(item, 0) + (value != before[item])
    assert max(seen.values()) - min(seen.values()) <= 1


def test_after_a_picture_the_window_rests(window: FakeWindow) -> None:
    items = DebugItems(0, pause_rendering=True)
    assert not items.is_resting
    window.cost = 0.01
    items.show(lines(3), NOTHING, 0.01)
    assert items.is_resting
    window.now += debug_draw.REST * 3 * 0.01 + 1e-6
    assert not items.is_resting


def test_items_whose_ids_pybullet_loses_are_not_left_behind(window: FakeWindow) -> None:
    # Where all cores are busy, some calls draw and return -1 (measured: 13 of 6000).
    others = window.addUserDebugLine((9.0,), (9.0,), (9.0,), 1.0, -1, 0)
    items = DebugItems(0, pause_rendering=True)
    window.lost = {3, 5, 6, 12}  # two lines new, one of them twice, and one that is replaced
    items.show(lines(5), NOTHING, 0.01)
    items.show(lines(5, 1.0), NOTHING, 0.01)
    assert max(window.lost) < window.sent
    kept = window.items.pop(others)
    assert kept[0] == (9.0,)
    assert window.lines == expected(lines(5, 1.0))
    items.clear()
    assert window.items == {}
