"""The extensions that this library knows, and the dialects in order of precedence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer, error, note, warning
from gltf_bullet.gltf.document import Document
from gltf_bullet.model.properties import Dialect
from gltf_bullet.suggestions import did_you_mean, near_names

EXTENSION_UNSUPPORTED = error(
    "EXTENSION_UNSUPPORTED",
    "the file requires {got}; must be an extension that this library implements{suggestion}",
)
EXTENSION_IGNORED = note(
    "EXTENSION_IGNORED", "the file uses {got}, which is not implemented; ignored"
)
EXTENSION_MISSPELT = warning(
    "EXTENSION_MISSPELT", "{got} is no known extension; it is ignored{suggestion}"
)
EXTENSION_UNDECLARED = warning(
    "EXTENSION_UNDECLARED",
    "{got} is used but not in extensionsUsed; must be listed there; it is read all the same",
)


NODE_EXTENSIONS: Final[Mapping[Dialect, tuple[str, ...]]] = {
    Dialect.KHR: ("KHR_physics_rigid_bodies",),
    Dialect.OMI: ("OMI_physics_body", "OMI_physics_joint", "OMI_physics_shape"),
    Dialect.OMI_COLLIDER: ("OMI_collider",),
    Dialect.MSFT_LATER: ("MSFT_rigid_bodies",),
    Dialect.MSFT_CAMEL: ("MSFT_RigidBodies", "MSFT_CollisionPrimitives"),
}
"""The extensions that describe nodes, the newest dialect first."""

PHYSICS_EXTENSIONS: Final = (
    "KHR_collision_shapes",
    "KHR_implicit_shapes",
    "KHR_physics_rigid_bodies",
    "MSFT_CollisionPrimitives",
    "MSFT_RigidBodies",
    "MSFT_collision_primitives",
    "MSFT_rigid_bodies",
    "OMI_collider",
    "OMI_physics_body",
    "OMI_physics_gravity",
    "OMI_physics_joint",
    "OMI_physics_shape",
)
"""The extensions that the modules of this room read."""

IMPLEMENTED_EXTENSIONS: Final = (
    *PHYSICS_EXTENSIONS,
    # Read by the rooms gltf and behavior.
    "KHR_animation_pointer",
    "KHR_draco_mesh_compression",
    "KHR_interactivity",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "KHR_mesh_quantization",
    # Appearance, metadata and editing only: ignoring them changes neither geometry nor motion.
    "EXT_lights_ies",
    "EXT_lights_image_based",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "GODOT_single_root",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_subsurface",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_node_hoverability",
    "KHR_node_selectability",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "MSFT_texture_dds",
)
"""The extensions that a file may require. EXT_mesh_gpu_instancing is missing on
purpose: without it geometry or motion would be another."""


def check_extensions(document: Document, diagnostics: Diagnostics) -> None:
    """Report extensions that this library does not implement, and physics that is not declared."""
    for position, name in enumerate(document.extensions_required):
        if name not in IMPLEMENTED_EXTENSIONS:
            at = ROOT / "extensionsRequired" / position
            suggestion = _suggestion(name)
            diagnostics.report(EXTENSION_UNSUPPORTED, at, got=name[:60], suggestion=suggestion)
    for position, name in enumerate(document.extensions_used):
        if name not in IMPLEMENTED_EXTENSIONS and name not in document.extensions_required:
            at = ROOT / "extensionsUsed" / position
            if suggestion := _suggestion(name):
                diagnostics.report(EXTENSION_MISSPELT, at, got=name[:60], suggestion=suggestion)
            else:
                diagnostics.report(EXTENSION_IGNORED, at, got=name[:60])
    for name, at in _places_of_extensions(document).items():
        if name in document.extensions_used or name in IMPLEMENTED_EXTENSIONS:
            continue
        if suggestion := _suggestion(name):
            diagnostics.report(EXTENSION_MISSPELT, at, got=name[:60], suggestion=suggestion)
    for name in PHYSICS_EXTENSIONS:
        if name in document.extensions_used:
            continue
        if document.root_extension(name) or document.nodes_with_extension(name):
            diagnostics.report(EXTENSION_UNDECLARED, ROOT / "extensionsUsed", got=name)


def _places_of_extensions(document: Document) -> dict[str, JsonPointer]:
    """The first place of every extension on the root and on nodes."""
    extensions = document.json.get("extensions")
    roots = extensions if isinstance(extensions, dict) else {}
    places = {name: ROOT / "extensions" / name for name in roots}
    for name in document.node_extension_names:
        node = document.nodes_with_extension(name)[0]
        places.setdefault(name, ROOT / "nodes" / node / "extensions" / name)
    return places


def _suggestion(name: str) -> str:
    """The end of a message about an extension that looks like one of physics but for a slip."""
    if len(name) >= 60:
        return ""
    # Another vendor's extension may have the same name behind its prefix: no slip of the pen.
    vendor = name.partition("_")[0]
    known = [known for known in PHYSICS_EXTENSIONS if near_names(vendor, [known.partition("_")[0]])]
    return did_you_mean(name, known, similar=0.85)
