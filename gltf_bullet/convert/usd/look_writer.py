"""Pictures of nodes as meshes of UsdGeom with materials of UsdPreviewSurface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from pxr import Gf, Sdf, UsdGeom, UsdShade, Vt

from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.images import image_bytes
from gltf_bullet.gltf.materials import AlphaMode, Material, TextureUse, Wrap, read_material
from gltf_bullet.gltf.meshes import read_mesh
from gltf_bullet.gltf.primitives import Primitive

_WRAPS: Final = {Wrap.CLAMP: "clamp", Wrap.MIRROR: "mirror", Wrap.REPEAT: "repeat"}
_TYPES: Final = Sdf.ValueTypeNames


class LookWriter:
    """Writes the render meshes of nodes."""

    def __init__(
        self,
        stage: Any,
        child: Callable[[str, str], str],
        document: Document,
        folder: str,
        losses: Losses,
        diagnostics: Diagnostics,
    ) -> None:
        """Remember the folder of textures, relative to the stage's."""
        self._stage, self._child, self._document, self._folder = stage, child, document, folder
        self._losses, self._diagnostics = losses, diagnostics
        self._materials: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        self._scope = ""
        self.pictures: dict[str, bytes] = {}
        """Image files by their paths relative to the stage."""

    def write(self, path: str, mesh: int) -> None:
        """Write a mesh below the prim of its node."""
        found = read_mesh(self._document, mesh, self._diagnostics)
        for primitive in () if found is None else found.primitives:
            if len(primitive.triangles):
                name = (found.name if found is not None else "") or "mesh"
                self._write(self._child(path, name), primitive)
            else:
                self._losses.lost("points and lines", path)

    def _write(self, path: str, primitive: Primitive) -> None:
        material = read_material(self._document, primitive.material, self._diagnostics)
        mesh = UsdGeom.Mesh.Define(self._stage, path)
        points = primitive.positions.astype(np.float32)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(points)))
        mesh.CreateFaceVertexCountsAttr([3] * len(primitive.triangles))
        mesh.CreateFaceVertexIndicesAttr(
            Vt.IntArray.FromNumpy(primitive.triangles.reshape(-1).astype(np.int32))
        )
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateExtentAttr([_vec3f(points.min(axis=0)), _vec3f(points.max(axis=0))])
        mesh.CreateDoubleSidedAttr(material.double_sided)
        if primitive.normals is not None:
            mesh.CreateNormalsAttr(
                Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(primitive.normals, dtype=np.float32))
            )
            mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        primvars = UsdGeom.PrimvarsAPI(mesh.GetPrim())
        texture = material.texture
        if texture is not None and texture.texcoord in primitive.texcoords:
            uvs = np.insert(primitive.texcoords[texture.texcoord], 2, 1.0, axis=1)
            shown = uvs @ np.array(texture.transform).T * (1.0, -1.0) + (0.0, 1.0)
            primvars.CreatePrimvar("st", _TYPES.TexCoord2fArray, UsdGeom.Tokens.vertex).Set(
                Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(shown, dtype=np.float32))
            )
        if primitive.colors is not None:
            colors = primitive.colors[:, :3] * np.array(material.base_color[:3])
            mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(
                Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(colors, dtype=np.float32))
            )
            return
        mesh.CreateDisplayColorAttr([_vec3f(material.base_color[:3])])
        if primitive.material is not None:
            binding = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
            binding.Bind(self._material(primitive.material, material))

    # --- materials ------------------------------------------------------------------------------

    def _material(self, index: int, material: Material) -> Any:
        if index in self._materials:
            return self._materials[index]
        if not self._materials:
            self._scope = self._child("/World", "Materials")
            UsdGeom.Scope.Define(self._stage, self._scope)
        entry = self._document.objects("materials")[index]
        path = self._child(self._scope, str(entry.get("name") or f"material_{index}"))
        found = UsdShade.Material.Define(self._stage, path)
        shader = UsdShade.Shader.Define(self._stage, f"{path}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        found.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        color = shader.CreateInput("diffuseColor", _TYPES.Color3f)
        opacity = shader.CreateInput("opacity", _TYPES.Float)
        blends = material.alpha_mode is not AlphaMode.OPAQUE
        node = None if material.texture is None else self._texture(path, material, material.texture)
        if node is None:
            color.Set(_vec3f(material.base_color[:3]))
            opacity.Set(material.base_color[3] if blends else 1.0)
        else:
            color.ConnectToSource(node.ConnectableAPI(), "rgb")
            if blends:
                opacity.ConnectToSource(node.ConnectableAPI(), "a")
        if material.alpha_mode is AlphaMode.MASK:
            shader.CreateInput("opacityThreshold", _TYPES.Float).Set(material.alpha_cutoff)
        if any(material.emissive):
            shader.CreateInput("emissiveColor", _TYPES.Color3f).Set(_vec3f(material.emissive))
        surface = entry.get("pbrMetallicRoughness")
        for name in ("metallic", "roughness"):
            value = surface.get(f"{name}Factor", 1.0) if isinstance(surface, dict) else 1.0
            if isinstance(value, (int, float)):
                shader.CreateInput(name, _TYPES.Float).Set(float(value))
        self._materials[index] = found
        return found

    def _texture(self, path: str, material: Material, texture: TextureUse) -> Any:
        name = self._picture(texture.image)
        if name is None:
            return None
        reader = UsdShade.Shader.Define(self._stage, f"{path}/st")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", _TYPES.String).Set("st")
        node = UsdShade.Shader.Define(self._stage, f"{path}/texture")
        node.CreateIdAttr("UsdUVTexture")
        node.CreateInput("file", _TYPES.Asset).Set(Sdf.AssetPath(f"./{name}"))
        node.CreateInput("sourceColorSpace", _TYPES.Token).Set("sRGB")
        for key, wrap in zip(("wrapS", "wrapT"), texture.wraps, strict=True):
            node.CreateInput(key, _TYPES.Token).Set(_WRAPS[wrap])
        node.CreateInput("scale", _TYPES.Float4).Set(Gf.Vec4f(*material.base_color))
        reader.CreateOutput("result", _TYPES.Float2)
        node.CreateInput("st", _TYPES.Float2).ConnectToSource(reader.ConnectableAPI(), "result")
        node.CreateOutput("rgb", _TYPES.Float3)
        node.CreateOutput("a", _TYPES.Float)
        return node

    def _picture(self, image: int) -> str | None:
        if image not in self._names:
            data = image_bytes(self._document, image, self._diagnostics)
            if data is None:
                return None
            kind = "png" if data.startswith(b"\x89PNG") else "jpg"
            if not data.startswith((b"\x89PNG", b"\xff\xd8\xff")):
                self._losses.lost("a texture other than PNG or JPEG", f"image {image}")
                return None
            name = f"{self._folder}/image_{image}.{kind}"
            self._names[image], self.pictures[name] = name, data
        return self._names[image]


def _vec3f(values: Any) -> Any:
    return Gf.Vec3f(*(float(v) for v in values))
