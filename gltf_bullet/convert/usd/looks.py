"""Pictures of prims: display colours, and base colour and texture of UsdPreviewSurface."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from pxr import Ar, Sdf, UsdGeom, UsdShade

from gltf_bullet.bounds import MESH_FILE_BYTES
from gltf_bullet.convert.description import MeshGeometry, MeshShape, Surface, VisualDescription
from gltf_bullet.convert.issues import ROBOT_FILE_MISSING, ROBOT_FILE_REFUSED
from gltf_bullet.convert.mesh_files import as_png_or_jpeg
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.convert.usd.layers import outer_path
from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.convert.usd.shapes import Shapes, face_corners
from gltf_bullet.convert.usd.stage import TIME, Entry
from gltf_bullet.transforms import FloatArray, IntArray

_GREY: Final = (0.18, 0.18, 0.18)
"""The fallback of ``diffuseColor`` (linear)."""


class Looks:
    """The visuals of prims."""

    def __init__(self, shapes: Shapes, folders: RobotFolders, losses: Losses) -> None:
        """Remember where textures may be."""
        self._shapes = shapes
        self._folders = folders
        self._losses = losses
        self._pictures: dict[str, bytes | None] = {}
        self._surfaces: dict[str, Surface] = {}

    def visuals(self, entry: Entry, link_from_stage: FloatArray) -> Iterator[VisualDescription]:
        """Return the meshes that are drawn of a prim, in the frame of its link."""
        if not entry.prim.IsA(UsdGeom.Gprim):
            return
        placed = self._shapes.drawn(entry, link_from_stage)
        if placed is None:
            if not entry.prim.IsA(UsdGeom.Mesh):
                self._losses.lost(f"the look of a {entry.prim.GetTypeName()}", entry.path)
            return
        sides = bool(UsdGeom.Gprim(entry.prim).GetDoubleSidedAttr().Get())
        if not isinstance(placed.shape, MeshShape):
            surface = self._surface(entry.prim, sides, has_uvs=False)
            yield VisualDescription(placed.shape, placed.link_from_shape, placed.scale, surface)
            return
        for prim, faces in self._parts(entry.prim):
            geometry = self._textured(entry.prim, placed.shape.geometry, faces)
            if geometry is not None:
                surface = self._surface(prim, sides, has_uvs=geometry.uvs is not None)
                yield VisualDescription(
                    MeshShape(geometry), placed.link_from_shape, placed.scale, surface
                )

    def _parts(self, prim: Any) -> Iterator[tuple[Any, IntArray | None]]:
        """Parts of a mesh with a material of their own, and their faces; ``None``: all faces."""
        subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
        if not subsets:
            yield prim, None
            return
        counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get(TIME) or ()
        left = np.ones(len(counts), dtype=bool)
        for subset in subsets:
            faces = np.asarray(subset.GetIndicesAttr().Get(TIME) or (), dtype=np.intp)
            faces = faces[(faces >= 0) & (faces < len(counts))]
            left[faces] = False
            yield subset.GetPrim(), faces
        if left.any():
            yield prim, np.flatnonzero(left)

    # --- geometry with normals and texture coordinates ------------------------------------------

    def _textured(
        self, prim: Any, geometry: MeshGeometry, faces: IntArray | None
    ) -> MeshGeometry | None:
        """The mesh of a prim, or some faces of it, with corners of their own where needed."""
        mesh = UsdGeom.Mesh(prim)
        found = face_corners(mesh)
        if found is None:
            return None
        corners, triangles, face = found
        if faces is not None:
            triangles = triangles[np.isin(face, faces)]
        if not len(triangles):
            return None
        count = len(corners)
        uvs = _by_corner(_uvs(prim), corners, count)
        normals = None
        if str(mesh.GetSubdivisionSchemeAttr().Get()) == "none":
            normals = _by_corner(_normals(mesh), corners, count)
            if normals is not None and mesh.GetOrientationAttr().Get() == "leftHanded":
                normals = -normals
        if uvs is None and normals is None and faces is None:
            return geometry
        columns = [geometry.points[corners], *(a for a in (uvs, normals) if a is not None)]
        used, inverse = np.unique(triangles, return_inverse=True)
        _, first, same = np.unique(
            np.column_stack(columns)[used].astype(np.float32), axis=0,
            return_index=True, return_inverse=True,
        )  # fmt: skip
        picked = used[first]
        return MeshGeometry(
            geometry.points[corners][picked],
            same.reshape(-1)[inverse.reshape(-1)].reshape(-1, 3),
            None if normals is None else normals[picked],
            None if uvs is None else uvs[picked] * (1.0, -1.0) + (0.0, 1.0),
            name=geometry.name,
        )

    # --- surfaces -------------------------------------------------------------------------------

    def _surface(self, prim: Any, sides: bool, *, has_uvs: bool) -> Surface:
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        shader = None
        if material:
            key = f"{material.GetPath()} {sides} {has_uvs}"
            if key in self._surfaces:
                return self._surfaces[key]
            shader, _, _ = material.ComputeSurfaceSource()
        if shader and shader.GetIdAttr().Get() == "UsdPreviewSurface":
            found = self._preview(shader, sides, has_uvs)
            self._surfaces[key] = found
            return found
        if material:
            self._losses.lost("a material other than UsdPreviewSurface", str(material.GetPath()))
        gprim = UsdGeom.Gprim(prim)
        color, alpha = None, 1.0
        if gprim:
            colors = gprim.GetDisplayColorPrimvar().ComputeFlattened(TIME)
            opacities = gprim.GetDisplayOpacityPrimvar().ComputeFlattened(TIME)
            color = np.mean(np.array(colors), axis=0) if colors else None
            alpha = float(np.mean(opacities)) if opacities else 1.0
            if colors and len({tuple(c) for c in colors}) > 1:
                self._losses.changed(
                    "display colours that differ within a prim", str(prim.GetPath()),
                    "their mean is shown",
                    f"{np.abs(np.array(colors) - color).max():.2g} of full colour",
                )  # fmt: skip
        r, g, b = (_shown(float(v)) for v in (_GREY if color is None else color))
        return Surface((r, g, b, alpha), None, sides)

    def _preview(self, shader: Any, sides: bool, has_uvs: bool) -> Surface:
        color: tuple[float, ...] = _GREY
        texture = None
        stated = shader.GetInput("diffuseColor")
        if stated:
            source = UsdShade.ConnectableAPI.GetConnectedSource(stated)
            if source:
                node = UsdShade.Shader(source[0].GetPrim())
                if node.GetIdAttr().Get() == "UsdUVTexture":
                    picture = self._picture(node)
                    if picture is not None and has_uvs:
                        factor = node.GetInput("scale")
                        scale = factor.Get(TIME) if factor else None
                        texture, color = picture, tuple(scale or (1.0, 1.0, 1.0))[:3]
                    elif picture is not None:
                        color = _mean(picture)
            elif stated.Get(TIME) is not None:
                color = tuple(float(v) for v in stated.Get(TIME))
        opacity = shader.GetInput("opacity")
        alpha = 1.0
        if opacity and opacity.Get(TIME) is not None:
            alpha = float(opacity.Get(TIME))
        r, g, b = (_shown(v) for v in color)
        return Surface((r, g, b, min(max(alpha, 0.0), 1.0)), texture, sides)

    def _picture(self, node: Any) -> bytes | None:
        """The image of a texture node, PNG or JPEG."""
        stated = node.GetInput("file")
        asset = stated.Get(TIME) if stated else None
        if not isinstance(asset, Sdf.AssetPath) or not asset.path:
            return None
        path = str(asset.resolvedPath or asset.path)
        if path not in self._pictures:
            self._pictures[path] = self._read_picture(path, asset.path, str(node.GetPath()))
        return self._pictures[path]

    def _read_picture(self, path: str, name: str, owner: str) -> bytes | None:
        found = self._folders.find(outer_path(path))
        if found is None:
            outside = self._folders.is_outside(outer_path(path))
            kind = ROBOT_FILE_REFUSED if outside else ROBOT_FILE_MISSING
            more = {"more": "", "folder": self._folders.folder_of([outer_path(path)])}
            self._losses.add(
                kind, owner=owner, got=repr(name[:120]), where="a texture", what="texture",
                **(more if outside else {}),
            )  # fmt: skip
            return None
        if Ar.IsPackageRelativePath(path):
            opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(path))
            data = bytes(opened.GetBuffer()) if opened else b""
        elif found.stat().st_size <= MESH_FILE_BYTES:
            data = Path(found).read_bytes()
        else:
            data = b""
        picture = as_png_or_jpeg(data)
        if picture is None:
            self._losses.lost(f"the texture {name!r}, no PNG or JPEG,", owner)
        return picture


def _mean(picture: bytes) -> tuple[float, ...]:
    """The mean colour of an image (linear)."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(picture)) as image:
            shown = np.asarray(image.convert("RGB").resize((16, 16)), dtype=np.float64) / 255.0
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        return _GREY
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    return tuple(float(v) for v in linear.mean(axis=(0, 1)))


def _shown(linear: float) -> float:
    """The sRGB component of a linear one (IEC 61966-2-1)."""
    value = min(max(linear, 0.0), 1.0)
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1.0 / 2.4) - 0.055


def _uvs(prim: Any) -> tuple[FloatArray, str] | None:
    primvars = UsdGeom.PrimvarsAPI(prim)
    for name in ("st", "UVMap", "st0", "map1"):
        primvar = primvars.FindPrimvarWithInheritance(name)
        values = primvar.ComputeFlattened(TIME) if primvar else None
        if values:
            found = np.asarray(values, dtype=np.float64)
            if found.ndim == 2 and found.shape[1] == 2 and np.isfinite(found).all():
                return found, str(primvar.GetInterpolation())
    return None


def _normals(mesh: Any) -> tuple[FloatArray, str] | None:
    primvar = UsdGeom.PrimvarsAPI(mesh.GetPrim()).GetPrimvar("normals")
    if primvar and primvar.HasAuthoredValue():
        values, how = primvar.ComputeFlattened(TIME), str(primvar.GetInterpolation())
    else:
        values, how = mesh.GetNormalsAttr().Get(TIME), str(mesh.GetNormalsInterpolation())
    found = np.asarray(values if values else (), dtype=np.float64).reshape(-1, 3)
    return (found, how) if len(found) and np.isfinite(found).all() else None


def _by_corner(
    stated: tuple[FloatArray, str] | None, corners: IntArray, count: int
) -> FloatArray | None:
    """Values by corner of a face; ``None`` if there are none or they do not add up."""
    if stated is None:
        return None
    values, how = stated
    if how == "faceVarying":
        return values if len(values) == count else None
    if how in ("vertex", "varying"):
        found = len(values) > int(corners.max(initial=-1))
        return values[corners] if found else None
    return None
