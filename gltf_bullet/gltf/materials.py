"""Base colours of surfaces from materials (glTF 2.0, "Materials").

With KHR_texture_transform, KHR_materials_unlit, KHR_materials_emissive_strength, the diffuse part
of KHR_materials_pbrSpecularGlossiness and the texture extensions for other image formats.
Roughness, metal, normal maps and the like are not read, since PyBullet's renderers ignore them.
"""

from __future__ import annotations

import enum
import math

from msgspec import Struct

from gltf_bullet.diagnostics import ROOT, Diagnostics, JsonPointer
from gltf_bullet.gltf.dispensable import do_without
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import Reader


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


class TextureUse(Struct, frozen=True, kw_only=True):
    """A texture as a material uses it."""

    image: int
    """Index of the image."""
    texcoord: int = 0
    """Number of the set of texture coordinates."""
    transform: tuple[tuple[float, float, float], tuple[float, float, float]] = IDENTITY_TRANSFORM
    """Rows that give u and v from (u, v, 1) of the file; v grows downwards."""
    wraps: tuple[Wrap, Wrap] = (Wrap.REPEAT, Wrap.REPEAT)
    """Behaviour along u and v."""


class Material(Struct, frozen=True, kw_only=True):
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
_DIFFUSE = ("diffuseFactor", "diffuseTexture")
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
    owner = document.reader("materials", index, diagnostics)
    extensions = owner.member_or_empty("extensions")
    surface, keys = owner.member("pbrMetallicRoughness"), ("baseColorFactor", "baseColorTexture")
    if surface is None:
        surface = Reader({}, owner.at, diagnostics)
        if SPECULAR_GLOSSINESS in extensions:
            surface, keys = extensions.member_or_empty(SPECULAR_GLOSSINESS), _DIFFUSE
    color = surface.numbers(keys[0], count=4, at_least=0.0)
    red, green, blue, alpha = color or (1.0, 1.0, 1.0, 1.0)
    mode = owner.choice("alphaMode", choices={mode.value: mode for mode in AlphaMode})
    return Material(
        base_color=(min(red, 1.0), min(green, 1.0), min(blue, 1.0), min(alpha, 1.0)),
        emissive=_read_emission(owner, extensions),
        texture=_read_texture(document, surface, keys[1]),
        alpha_mode=mode or AlphaMode.OPAQUE,
        alpha_cutoff=owner.number("alphaCutoff", default=0.5, at_least=0.0),
        double_sided=owner.boolean("doubleSided", default=False),
        unlit="KHR_materials_unlit" in extensions,
        pointer=owner.at,
    )


def _read_emission(owner: Reader, extensions: Reader) -> tuple[float, float, float]:
    """The emissive factor; 0 with an emissive texture, which is not read."""
    factor = owner.numbers("emissiveFactor", count=3, at_least=0.0)
    if factor is None or "emissiveTexture" in owner:
        return (0.0, 0.0, 0.0)
    block = extensions.member_or_empty("KHR_materials_emissive_strength")
    strength = block.number("emissiveStrength", default=1.0, at_least=0.0)
    red, green, blue = (min(1.0, strength * value) for value in factor)
    return (red, green, blue)


def _read_texture(document: Document, surface: Reader, key: str) -> TextureUse | None:
    info = surface.member(key)
    if info is None or not info.has("index", "an index"):
        return None
    index = info.index("index", count=document.count("textures"))
    texcoord = info.size("texCoord", default=0)
    block = info.member_or_empty("extensions").member("KHR_texture_transform")
    transform = IDENTITY_TRANSFORM
    if block is not None:
        transform = _read_transform(block)
        texcoord = block.size("texCoord", default=texcoord or 0)
    if index is None:
        return None
    texture = document.reader("textures", index, surface.diagnostics)
    image = _read_source(document, texture)
    if image is None:
        return None
    wraps = (Wrap.REPEAT, Wrap.REPEAT)
    sampler = texture.index("sampler", count=document.count("samplers"))
    if sampler is not None:
        wraps = _read_wraps(document.reader("samplers", sampler, surface.diagnostics))
    return TextureUse(image=image, texcoord=texcoord or 0, transform=transform, wraps=wraps)


def _read_transform(block: Reader) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """KHR_texture_transform: scale, then counter-clockwise rotation as seen, then offset."""
    offset_u, offset_v = block.numbers("offset", count=2) or (0.0, 0.0)
    scale_u, scale_v = block.numbers("scale", count=2) or (1.0, 1.0)
    angle = block.number("rotation", default=0.0)
    cosine, sine = math.cos(angle), math.sin(angle)
    # v grows downwards, so that the signs are those of a clockwise rotation elsewhere.
    return (
        (cosine * scale_u, sine * scale_v, offset_u),
        (-sine * scale_u, cosine * scale_v, offset_v),
    )


def _read_source(document: Document, texture: Reader) -> int | None:
    """The image of a texture: from a readable extension, else the core's, else any."""
    count = document.count("images")
    extensions = texture.member_or_empty("extensions")
    sources = []
    for name in TEXTURE_EXTENSIONS:
        source = extensions.member_or_empty(name).index("source", count=count)
        if source is not None:
            sources.append((name == "KHR_texture_basisu", source))
    core = texture.index("source", count=count)
    if core is not None:
        sources.append((False, core))
    return min(sources, key=lambda source: source[0])[1] if sources else None


def _read_wraps(sampler: Reader) -> tuple[Wrap, Wrap]:
    found = []
    for key in ("wrapS", "wrapT"):
        code = sampler.size(key, default=Wrap.REPEAT.value)
        known = {wrap.value: wrap for wrap in Wrap}
        if code is not None and code not in known:
            words = Reader({key: str(code)}, sampler.at, sampler.diagnostics)
            words.choice(key, choices={str(c): c for c in known})  # Reports the allowed values.
        found.append(known.get(code or 0, Wrap.REPEAT))
    return (found[0], found[1])
