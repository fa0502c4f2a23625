"""``gb.step_world``: a step of a world by whoever has no scene of it at hand."""

from __future__ import annotations

from gltf_bullet.bullet.session import PhysicsClient, engine_session, require_client
from gltf_bullet.number_ranges import step_count
from gltf_bullet.runtime.step_program import StepProgram

__all__ = ["step_world"]


def step_world(physics_client: PhysicsClient = 0, count: int = 1) -> None:
    """Advance a world by ``count`` of its time steps: all its scenes take part.

    The same as :meth:`Scene.step <gltf_bullet.Scene.step>` of any scene in it, and as
    ``pybullet.stepSimulation`` where there is none. A plain ``stepSimulation`` leaves drives,
    limits, animations and triggers of scenes out.

    Args:
        physics_client: A client id, or a ``BulletClient``.
        count: How many.

    Raises:
        EngineError: There is no such client.
        WorldChangedError: The world is not the one that a scene of it was loaded into.
    """
    session = engine_session(require_client(physics_client))
    with session.lock:
        cores = session.shared(StepProgram).cores()
        if cores:
            session.shared(StepProgram).step(cores[0], count)
            return
        for _ in range(step_count(count)):
            session.step()
