"""The front door: a file into a world."""

from __future__ import annotations

from collections.abc import Sequence

from gltf_bullet.bullet.client import PhysicsClient, require_client
from gltf_bullet.gltf.document import AssetSource
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.placement import UpAxis
from gltf_bullet.runtime.scene import Scene

__all__ = ["load_gltf"]


def load_gltf(
    source: AssetSource,
    physics_client: PhysicsClient = 0,
    *,
    position: Sequence[float] = (0.0, 0.0, 0.0),
    orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    scale: float = 1.0,
    up_axis: UpAxis = "z",
    scene_index: int | None = None,
    options: LoadOptions | None = None,
) -> Scene:
    """Load a glTF asset with rigid-body physics into a PyBullet world.

    The world stays yours: gravity, time step and every other engine setting are left as they are.

    Args:
        source: A path, bytes, a binary file object or a ``pygltflib.GLTF2``.
        physics_client: A client id or a ``pybullet_utils`` ``BulletClient``.
        position: Where the asset's origin stands in the world [m].
        orientation: How the asset is turned, xyzw, after standing up.
        scale: Uniform size factor, like the scale of a parent node: lengths grow, stated masses,
            inertias and velocities stay.
        up_axis: ``"z"`` turns glTF's +Y up into a Z-up world; ``"y"`` keeps glTF's axes.
        scene_index: Which glTF scene; ``None`` takes the file's default.
        options: Choices that the file cannot make.

    Raises:
        AssetError: The file cannot be used (``.issues`` lists everything found).
        TranslationError: ``options.strict`` and the engine would approximate.
        EngineError: The client is not connected, or PyBullet refused.
    """
    client_id = require_client(physics_client)
    return read_asset(source).instantiate(
        client_id,
        position=position,
        orientation=orientation,
        scale=scale,
        up_axis=up_axis,
        scene_index=scene_index,
        options=options,
    )
