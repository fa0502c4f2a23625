"""What of a file a scene simulates, and what its users have made of that."""

from __future__ import annotations

from gltf_bullet.later import Later
from gltf_bullet.model import PhysicsScene

__all__ = ["SceneModel"]


class SceneModel:
    """Changes by pointer included; of a file that is only simulated nobody asks for it."""

    def __init__(self, at_load: Later[PhysicsScene]) -> None:
        self.at_load = at_load
        """As the file has it."""
        self._edited: PhysicsScene | None = None

    @property
    def now(self) -> PhysicsScene:
        """As it is simulated."""
        return self.at_load() if self._edited is None else self._edited

    def edit(self, physics: PhysicsScene) -> None:
        """Simulate another one from now on."""
        self._edited = physics

    def take_tables(self, physics: PhysicsScene) -> None:
        """Simulate one that differs at most in what nothing is made of."""
        if physics is not self.now and physics.tables != self.now.tables:
            self.edit(physics)

    def later(self) -> Later[PhysicsScene]:
        """:attr:`now`, for those who may never look at it."""
        return self.at_load if self._edited is None else Later.known(self._edited)
