"""Translucent bodies, so that what lies inside of them can be seen."""

from __future__ import annotations

import contextlib

import pybullet

__all__ = ["XRay"]

ALPHA = 0.35
"""Opacity of what is looked through."""


class XRay:
    """Switches all bodies of one world between their own colours and translucent ones."""

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._colors: list[tuple[int, int, tuple[float, ...]]] = []

    @property
    def is_on(self) -> bool:
        """Whether bodies are translucent."""
        return bool(self._colors)

    def toggle(self) -> bool:
        """Switch; returns whether bodies are translucent now."""
        if self.is_on:
            for body, link, color in self._colors:
                self._paint(body, link, color)
            self._colors = []
            return False
        client = self._client_id
        for index in range(pybullet.getNumBodies(physicsClientId=client)):
            body = pybullet.getBodyUniqueId(index, physicsClientId=client)
            for shape in pybullet.getVisualShapeData(body, physicsClientId=client) or ():
                self._colors.append((body, shape[1], shape[7]))
        for body, link, (red, green, blue, alpha) in self._colors:
            self._paint(body, link, (red, green, blue, alpha * ALPHA))
        return self.is_on

    def forget(self) -> None:
        """Bodies are new and have their own colours."""
        self._colors = []

    def _paint(self, body: int, link: int, color: tuple[float, ...]) -> None:
        # A body may have been removed since.
        with contextlib.suppress(pybullet.error):
            pybullet.changeVisualShape(body, link, rgbaColor=color, physicsClientId=self._client_id)
