"""Base colours of surfaces from materials (glTF 2.0, "Materials").

With KHR_texture_transform, KHR_materials_unlit, KHR_materials_emissive_strength, the diffuse part
of KHR_materials_pbrSpecularGlossiness and the texture extensions for other image formats.
Roughness, metal, normal maps and the like are not read, since PyBullet's renderers ignore them.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import (
    JsonObject,
    has_required,
    read_bool,
    read_choice,
    read_index,
    read_number,
    read_numbers,
    read_object,
    read_size,
)


class AlphaMode(enum.Enum):
    """Use of alpha by a material."""

    OPAQUE = "OPAQUE"
    MASK = "MASK"
    BLEND = "BLEND"


class Wrap(enum.Enum):
    """Behaviour of a texture beyond its edges; the values are OpenGL's."""

    CLAMP = 33071
    MIRROR = 33648
    REPEAT = 10497


IDENTITY_TRANSFORM = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextureUse:
    """A texture as a material uses it."""

    image: int
    """Index of the image."""
    texcoord: int = 0
    """Number of the set of texture coordinates."""
    transform: tuple[tuple[float, float, float], tuple[float, float, float]] = IDENTITY_TRANSFORM
    """Rows that give u and v from (u, v, 1) of the file; v grows downwards."""
    wraps: tuple[Wrap, Wrap] = (Wrap.REPEAT, Wrap.REPEAT)
    """Behaviour along u and v."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The base colour of a surface; the defaults are those of a primitive without material."""

    base_color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    """Linear RGBA, multiplied with the texture."""
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Linear RGB that the surface emits."""
    texture: TextureUse | None = None
    alpha_mode: AlphaMode = AlphaMode.OPAQUE
    alpha_cutoff: float = 0.5
    """Alpha below which nothing is drawn, in the mode ``MASK``."""
    double_sided: bool = False
    unlit: bool = False
    """True if the surface is shown without light and shade."""
    pointer: JsonPointer = ROOT
    """Location of the material in the JSON."""


DEFAULT_MATERIAL = Material()

SPECULAR_GLOSSINESS = "KHR_materials_pbrSpecularGlossiness"
TEXTURE_EXTENSIONS = (
    "EXT_texture_webp", "EXT_texture_avif", "MSFT_texture_dds", "KHR_texture_basisu",
)  # fmt: skip
"""Extensions with another source of a texture, the readable ones first."""


def read_material(document: Document, index: int | None, diagnostics: Diagnostics) -> Material:
    """Material ``index``; the default one for ``None``. Computed once per document."""
    if index is None or not 0 <= index < document.count("materials"):
        return DEFAULT_MATERIAL

    def read(sink: Diagnostics) -> Material:
        found = Diagnostics()
        material = _read_material(document, index, found)
        do_without(found, "the material is shown without it", sink)
        return material

    return document.derive(("material", index), read, diagnostics)


def _read_material(document: Document, index: int, diagnostics: Diagnostics) -> Material:
    at = ROOT / "materials" / index
    owner = document.objects("materials")[index]
    extensions = read_object(owner, "extensions", at, diagnostics) or {}
    surface, surface_at = read_object(owner, "pbrMetallicRoughness", at, diagnostics), None
    keys = ("baseColorFactor", "baseColorTexture")
    if surface is None and SPECULAR_GLOSSINESS in extensions:
        surface_at = at / "extensions"
        surface = read_object(extensions, SPECULAR_GLOSSINESS, surface_at, diagnostics)
        surface_at, keys = surface_at / SPECULAR_GLOSSINESS, ("diffuseFactor", "diffuseTexture")
    surface, surface_at = surface or {}, surface_at or at / "pbrMetallicRoughness"
    color = read_numbers(surface, keys[0], surface_at, diagnostics, count=4, at_least=0.0)
    red, green, blue, alpha = color or (1.0, 1.0, 1.0, 1.0)
    mode = read_choice(
        owner, "alphaMode", at, diagnostics, choices={mode.value: mode for mode in AlphaMode}
    )
    return Material(
        base_color=(min(red, 1.0), min(green, 1.0), min(blue, 1.0), min(alpha, 1.0)),
        emissive=_read_emission(owner, extensions, at, diagnostics),
        texture=_read_texture(document, surface, keys[1], surface_at, diagnostics),
        alpha_mode=mode or AlphaMode.OPAQUE,
        alpha_cutoff=read_number(owner, "alphaCutoff", at, diagnostics, default=0.5, at_least=0.0),
        double_sided=read_bool(owner, "doubleSided", at, diagnostics, default=False),
        unlit="KHR_materials_unlit" in extensions,
        pointer=at,
    )


def _read_emission(
    owner: JsonObject, extensions: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[float, float, float]:
    """The emissive factor; 0 with an emissive texture, which is not read."""
    factor = read_numbers(owner, "emissiveFactor", at, diagnostics, count=3, at_least=0.0)
    if factor is None or "emissiveTexture" in owner:
        return (0.0, 0.0, 0.0)
    name = "KHR_materials_emissive_strength"
    block = read_object(extensions, name, at / "extensions", diagnostics) or {}
    strength = read_number(
        block, "emissiveStrength", at / "extensions" / name, diagnostics, default=1.0, at_least=0.0
    )
    red, green, blue = (min(1.0, strength * value) for value in factor)
    return (red, green, blue)


def _read_texture(
    document: Document, surface: JsonObject, key: str, at: JsonPointer, diagnostics: Diagnostics
) -> TextureUse | None:
    info = read_object(surface, key, at, diagnostics)
    if info is None:
        return None
    at = at / key
    if not has_required(info, "index", "an index", at, diagnostics):
        return None
    index = read_index(info, "index", at, diagnostics, count=document.count("textures"))
    texcoord = read_size(info, "texCoord", at, diagnostics, default=0)
    extensions = read_object(info, "extensions", at, diagnostics) or {}
    block_at = at / "extensions" / "KHR_texture_transform"
    block = read_object(extensions, "KHR_texture_transform", at / "extensions", diagnostics)
    transform = IDENTITY_TRANSFORM
    if block is not None:
        transform = _read_transform(block, block_at, diagnostics)
        texcoord = read_size(block, "texCoord", block_at, diagnostics, default=texcoord or 0)
    if index is None:
        return None
    texture_at = ROOT / "textures" / index
    texture = document.objects("textures")[index]
    image = _read_source(document, texture, texture_at, diagnostics)
    if image is None:
        return None
    wraps = (Wrap.REPEAT, Wrap.REPEAT)
    count = document.count("samplers")
    sampler = read_index(texture, "sampler", texture_at, diagnostics, count=count)
    if sampler is not None:
        wraps = _read_wraps(
            document.objects("samplers")[sampler], ROOT / "samplers" / sampler, diagnostics
        )
    return TextureUse(image=image, texcoord=texcoord or 0, transform=transform, wraps=wraps)


def _read_transform(
    block: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """KHR_texture_transform: scale, then counter-clockwise rotation as seen, then offset."""
    offset_u, offset_v = read_numbers(block, "offset", at, diagnostics, count=2) or (0.0, 0.0)
    scale_u, scale_v = read_numbers(block, "scale", at, diagnostics, count=2) or (1.0, 1.0)
    angle = read_number(block, "rotation", at, diagnostics, default=0.0)
    cosine, sine = math.cos(angle), math.sin(angle)
    # v grows downwards, so that the signs are those of a clockwise rotation elsewhere.
    return (
        (cosine * scale_u, sine * scale_v, offset_u),
        (-sine * scale_u, cosine * scale_v, offset_v),
    )


def _read_source(
    document: Document, texture: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> int | None:
    """The image of a texture: from a readable extension, else the core's, else any."""
    count = document.count("images")
    extensions = read_object(texture, "extensions", at, diagnostics) or {}
    sources = []
    for name in TEXTURE_EXTENSIONS:
        block_at = at / "extensions" / name
        block = read_object(extensions, name, at / "extensions", diagnostics) or {}
        source = read_index(block, "source", block_at, diagnostics, count=count)
        if source is not None:
            sources.append((name == "KHR_texture_basisu", source))
    core = read_index(texture, "source", at, diagnostics, count=count)
    if core is not None:
        sources.append((False, core))
    return min(sources, key=lambda source: source[0])[1] if sources else None


def _read_wraps(
    sampler: JsonObject, at: JsonPointer, diagnostics: Diagnostics
) -> tuple[Wrap, Wrap]:
    found = []
    for key in ("wrapS", "wrapT"):
        code = read_size(sampler, key, at, diagnostics, default=Wrap.REPEAT.value)
        known = {wrap.value: wrap for wrap in Wrap}
        if code is not None and code not in known:
            read_choice(  # Reports the allowed values.
                {key: str(code)}, key, at, diagnostics, choices={str(c): c for c in known}
            )
        found.append(known.get(code or 0, Wrap.REPEAT))
    return (found[0], found[1])
