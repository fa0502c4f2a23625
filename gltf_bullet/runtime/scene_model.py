"""What of a file a scene simulates, and what its users have made of that."""

from __future__ import annotations

from gltf_bullet.model import PhysicsScene

__all__ = ["SceneModel"]


class SceneModel:
    """What is simulated, changes by pointer included."""

    def __init__(self, at_load: PhysicsScene) -> None:
        self.at_load = at_load
        """As the file has it."""
        self.now = at_load
        """As it is simulated."""

    def edit(self, physics: PhysicsScene) -> None:
        """Simulate another one from now on."""
        self.now = physics

    def take_tables(self, physics: PhysicsScene) -> None:
        """Simulate one that differs at most in what nothing is made of."""
        if physics is not self.now and physics.tables != self.now.tables:
            self.edit(physics)
