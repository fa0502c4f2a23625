"""Load glTF assets with rigid-body physics into PyBullet and keep file and simulation in step.

The rooms, each importing only from those before it: ``errors``, ``diagnostics``, ``transforms``,
``options``; ``scene`` (node tree); ``gltf`` (the file) and ``model`` (the physics); ``dialects``
(JSON to model) and ``bullet`` (model to PyBullet); ``runtime`` (a world in motion); ``envs`` and
``viewer``; ``cli``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from gltf_bullet.diagnostics import Issue, Severity
from gltf_bullet.errors import (
    AssetError,
    ContainerError,
    EngineError,
    GltfBulletError,
    InvalidAssetError,
    SceneRemovedError,
    TranslationError,
    UnsupportedAssetError,
)
from gltf_bullet.options import LoadOptions

if TYPE_CHECKING:
    from gltf_bullet.bullet.contacts.contact_points import Contacts
    from gltf_bullet.bullet.owned_world import has_display
    from gltf_bullet.bullet.world.ray_casts import RayHit
    from gltf_bullet.dialects.khr.writer import write_physics
    from gltf_bullet.rendering.camera import Camera
    from gltf_bullet.runtime.asset import Asset, Report, check, read_asset
    from gltf_bullet.runtime.load import load_gltf
    from gltf_bullet.runtime.scene import Scene
    from gltf_bullet.runtime.scene_core import SceneState
    from gltf_bullet.runtime.views.handles import Body, NodeView
    from gltf_bullet.runtime.views.joints import DegreeOfFreedom, Joint
    from gltf_bullet.runtime.views.pictures import CameraView, Picture
    from gltf_bullet.runtime.views.recording import Recording, record
    from gltf_bullet.runtime.views.triggers import TriggerEvent, TriggerView
    from gltf_bullet.scene.cameras import OrthographicLens, PerspectiveLens

# What needs the engine is imported at first use: reading and converting files works without it.
_LAZY = {
    "Asset": "gltf_bullet.runtime.asset",
    "Body": "gltf_bullet.runtime.views.handles",
    "Camera": "gltf_bullet.rendering.camera",
    "CameraView": "gltf_bullet.runtime.views.pictures",
    "Contacts": "gltf_bullet.bullet.contacts.contact_points",
    "DegreeOfFreedom": "gltf_bullet.runtime.views.joints",
    "Joint": "gltf_bullet.runtime.views.joints",
    "NodeView": "gltf_bullet.runtime.views.handles",
    "OrthographicLens": "gltf_bullet.scene.cameras",
    "PerspectiveLens": "gltf_bullet.scene.cameras",
    "Picture": "gltf_bullet.runtime.views.pictures",
    "RayHit": "gltf_bullet.bullet.world.ray_casts",
    "Recording": "gltf_bullet.runtime.views.recording",
    "Report": "gltf_bullet.runtime.asset",
    "Scene": "gltf_bullet.runtime.scene",
    "SceneState": "gltf_bullet.runtime.scene_core",
    "TriggerEvent": "gltf_bullet.runtime.views.triggers",
    "TriggerView": "gltf_bullet.runtime.views.triggers",
    "check": "gltf_bullet.runtime.asset",
    "has_display": "gltf_bullet.bullet.owned_world",
    "load_gltf": "gltf_bullet.runtime.load",
    "read_asset": "gltf_bullet.runtime.asset",
    "record": "gltf_bullet.runtime.views.recording",
    "write_physics": "gltf_bullet.dialects.khr.writer",
}

__all__ = [
    "Asset",
    "AssetError",
    "Body",
    "Camera",
    "CameraView",
    "Contacts",
    "ContainerError",
    "DegreeOfFreedom",
    "EngineError",
    "GltfBulletError",
    "InvalidAssetError",
    "Issue",
    "Joint",
    "LoadOptions",
    "NodeView",
    "OrthographicLens",
    "PerspectiveLens",
    "Picture",
    "RayHit",
    "Recording",
    "Report",
    "Scene",
    "SceneRemovedError",
    "SceneState",
    "Severity",
    "TranslationError",
    "TriggerEvent",
    "TriggerView",
    "UnsupportedAssetError",
    "check",
    "has_display",
    "load_gltf",
    "read_asset",
    "record",
    "write_physics",
]


def __getattr__(name: str) -> object:
    if name == "viewer":
        return import_module("gltf_bullet.viewer")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value
