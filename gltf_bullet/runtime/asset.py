"""The entry points of the library: read a file once, and load it into worlds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from gltf_bullet.collection import no_collection
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import AssetSource
from gltf_bullet.options import LoadOptions, require_options
from gltf_bullet.runtime.content import AssetContent, is_converted, read_content, require_usable
from gltf_bullet.runtime.placement import Placement, UpAxis

if TYPE_CHECKING:
    # Reading works where PyBullet is not installed.
    from gltf_bullet.bullet.session import PhysicsClient
    from gltf_bullet.runtime.scene import Scene


@cache
def _scene_type() -> type[Scene]:
    """Import on first use, once: an import statement takes 5 us of every copy (measured)."""
    from gltf_bullet.runtime.scene import Scene

    return Scene


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Asset(AssetContent):
    """One glTF file, read and checked; independent of any engine, picklable."""

    def instantiate(
        self,
        physics_client: PhysicsClient = 0,
        *,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        scale: float = 1.0,
        up_axis: UpAxis = "z",
        scene_index: int | None = None,
        options: LoadOptions | None = None,
    ) -> Scene:
        """Put the asset into a PyBullet world; see :func:`gltf_bullet.load_gltf`."""
        placement = Placement.of(position, orientation, scale, up_axis, scene_index)
        return _scene_type()(self, physics_client, placement, require_options(options))


def read_asset(source: AssetSource) -> Asset:
    """Read a glTF file without an engine.

    The path of a robot (``.urdf``, ``.sdf``, MJCF ``.xml``) or of a USD stage is converted first,
    in memory, as ``gltf-bullet convert`` does without options.

    Args:
        source: A path, bytes, a binary file object or a ``pygltflib.GLTF2``.

    Raises:
        ContainerError: No such file, not glTF, truncated, or buffers that cannot be read.
        UnsupportedAssetError: The file requires an extension that is not implemented.
        InvalidAssetError: Findings of severity ERROR; all of them are listed.
    """
    diagnostics = Diagnostics()
    with no_collection():
        content = require_usable(read_content(source, diagnostics))
    return Asset(
        path=content.path,
        document=content.document,
        physics=content.physics,
        animations=content.animations,
        issues=content.issues,
        acted=content.acted,
    )


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
        source: As for :func:`read_asset`.
        physics_client: A client id or a ``pybullet_utils`` ``BulletClient``.
        position: Position of the asset's origin in the world [m].
        orientation: Rotation of the asset, xyzw, after ``up_axis``.
        scale: Uniform size factor, like the scale of a parent node: lengths grow, stated masses,
            inertias, velocities and limits of joints stay.
        up_axis: ``"z"`` turns glTF's +Y up into a Z-up world; ``"y"`` keeps glTF's axes.
        scene_index: Index of the glTF scene; ``None``: the file's default.
        options: Choices that the file cannot make.

    Raises:
        AssetError: The file cannot be used (``.issues`` lists everything found).
        TranslationError: ``options.strict`` and the engine would approximate.
        EngineError: The client is not connected, or PyBullet refused.
        ValueError: A placement that is none, or a scene that the file does not have.
        TypeError: ``options`` is something else than ``LoadOptions``.
    """
    from gltf_bullet.bullet.session import require_client
    from gltf_bullet.runtime.recent import recent_asset

    require_client(physics_client)  # before the file is read: the commoner mistake, found at once
    options = require_options(options)
    with no_collection():
        if isinstance(source, (str, os.PathLike)) and not is_converted(source):
            asset = recent_asset(source, partial(read_asset, source))
        else:
            asset = read_asset(source)
        return asset.instantiate(
            physics_client,
            position=position,
            orientation=orientation,
            scale=scale,
            up_axis=up_axis,
            scene_index=scene_index,
            options=options,
        )
