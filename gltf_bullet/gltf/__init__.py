"""From bytes to typed content of a glTF file, independent of physics dialects."""

from gltf_bullet.gltf.accessors import read_accessor
from gltf_bullet.gltf.animations import read_animations
from gltf_bullet.gltf.document import AssetSource, Document, ReadLimits, read_document
from gltf_bullet.gltf.meshes import Mesh, Primitive, morphed_positions, read_mesh
from gltf_bullet.gltf.skins import Skin, joints_exist, read_skin, skinned_positions

__all__ = [
    "AssetSource",
    "Document",
    "Mesh",
    "Primitive",
    "ReadLimits",
    "Skin",
    "joints_exist",
    "morphed_positions",
    "read_accessor",
    "read_animations",
    "read_document",
    "read_mesh",
    "read_skin",
    "skinned_positions",
]
