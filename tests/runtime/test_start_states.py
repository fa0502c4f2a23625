"""In which order the contacts of scenes are made anew before a first step."""

from __future__ import annotations

from gltf_bullet.bullet.session import engine_session, headless_world
from gltf_bullet.runtime.start_states import StartStates


class FakeScene:
    """As much of a scene as its start needs; it notes when its contacts are made anew."""

    def __init__(self, name: str, renewed: list[str]) -> None:
        self.is_removed = False
        self._name, self._renewed = name, renewed
        self.world = self.lease = self

    def require(self) -> None:
        """It is alive."""

    def renew_contacts(self) -> None:
        self._renewed.append(self._name)

    def state_with(self, _: object) -> str:
        return self._name


def test_who_comes_later_touches_later_also_under_an_earlier_address() -> None:
    """An address is given out again when a scene is gone that nobody ever stepped."""
    renewed: list[str] = []
    with headless_world() as client:
        states = StartStates(engine_session(client))
        first, second = FakeScene("first", renewed), FakeScene("second", renewed)
        for scene in (first, second, first):
            states.expect(scene)  # type: ignore[arg-type]
        states.take(second)  # type: ignore[arg-type]
    assert renewed == ["second", "first"]
