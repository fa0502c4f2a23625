"""Geoms as shapes that are drawn and shapes that collide.

Round geoms are along +Z, as the shapes of a description. MuJoCo scales meshes and centres them at
their centre of mass; the pose of the geom compensates for that.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gltf_bullet.convert import description
from gltf_bullet.convert.mjcf.model import GeomType, MjcfModel, pose_of, vector
from gltf_bullet.transforms import FloatArray, Pose, Vec3

SHOWN_GROUPS: Final = 3
"""MuJoCo's viewers show the groups below this one by default."""
_DEFAULT_COLOR: Final = (0.5, 0.5, 0.5, 1.0)
"""A geom of this colour has the colour of its material."""
_TEXTURE_2D: Final = 0
_COLOR_ROLES: Final = (1, 8)
"""``mjTEXROLE_RGB`` and ``mjTEXROLE_RGBA``."""
_WHITE: Final = (1.0, 1.0, 1.0)


class Geoms:
    """The geoms of a model, each mesh and texture read once."""

    def __init__(self, model: MjcfModel) -> None:
        self._model = model
        # Methods with a cache would hold the model for ever.
        self._drawn = cache(self._drawn_mesh)
        self._hull = cache(self._hull_of_mesh)
        self._field = cache(self._height_field)
        self._image = cache(self._png)

    def pose(self, geom: int) -> Pose:
        """body_from_geom."""
        return pose_of(self._model["geom_pos"][geom], self._model["geom_quat"][geom])

    def collider(self, geom: int) -> tuple[description.ShapeGeometry, Vec3]:
        """Collision shape of a geom, and its scale."""
        model = self._model
        kind, (x, y, z) = model["geom_type"][geom], vector(model["geom_size"][geom])
        if kind == GeomType.PLANE:
            return description.PlaneShape((0.0, 0.0, 1.0)), _WHITE
        if kind == GeomType.ELLIPSOID:
            return description.BallShape(1.0), (x, y, z)
        if kind == GeomType.SPHERE:
            return description.BallShape(x), _WHITE
        if kind in (GeomType.CAPSULE, GeomType.CYLINDER):
            return description.RoundShape(x, 2.0 * y, kind == GeomType.CAPSULE), _WHITE
        if kind == GeomType.BOX:
            return description.BoxShape((2.0 * x, 2.0 * y, 2.0 * z)), _WHITE
        number = int(model["geom_dataid"][geom])
        if kind == GeomType.HFIELD:
            return description.MeshShape(self._field(number)), _WHITE
        is_convex = bool(kind == GeomType.MESH)
        return description.MeshShape(
            self._hull(number) if is_convex else self._drawn(number), is_convex
        ), _WHITE

    def visual(self, geom: int) -> description.VisualDescription | None:
        """Visual of a geom; ``None`` if its group is hidden, or it is transparent."""
        model = self._model
        surface = self._surface(geom)
        if model["geom_group"][geom] >= SHOWN_GROUPS or surface.color[3] <= 0.0:
            return None
        kind = model["geom_type"][geom]
        shape, scale = self.collider(geom)
        if kind == GeomType.PLANE:
            shape = self._shown_plane(geom)
        elif kind in (GeomType.MESH, GeomType.SDF):
            shape = description.MeshShape(self._drawn(int(model["geom_dataid"][geom])))
        has_uvs = isinstance(shape, description.MeshShape) and shape.geometry.uvs is not None
        if surface.texture is not None and not has_uvs:
            surface = description.Surface(color=self._mean_color(geom, surface))
        return description.VisualDescription(shape, self.pose(geom), scale, surface)

    def has_flat_color_for_texture(self, geom: int) -> bool:
        """Return True if a texture is lost for want of texture coordinates on the geom."""
        texture, _ = self._texture(geom)
        if texture < 0 or self._model["geom_group"][geom] >= SHOWN_GROUPS:
            return False
        visual = self.visual(geom)
        return visual is not None and visual.surface.texture is None

    # --- looks --------------------------------------------------------------------------------

    def _surface(self, geom: int) -> description.Surface:
        model = self._model
        r, g, b, a = (round(float(v), 6) for v in model["geom_rgba"][geom])
        material = int(model["geom_matid"][geom])
        if material >= 0 and (r, g, b, a) == _DEFAULT_COLOR:
            r, g, b, a = (round(float(v), 6) for v in model["mat_rgba"][material])
        texture, is_flat = self._texture(geom)
        image = self._image(texture) if texture >= 0 and is_flat else None
        return description.Surface(color=(r, g, b, a), texture=image)

    def _texture(self, geom: int) -> tuple[int, bool]:
        """The number of the texture that colours a geom, -1 without, and whether it is 2D."""
        model = self._model
        material = int(model["geom_matid"][geom])
        if material < 0:
            return -1, False
        ids = np.atleast_1d(model["mat_texid"][material])
        roles = [int(ids[role]) for role in _COLOR_ROLES] if len(ids) > 1 else [int(ids[0])]
        texture = max(roles)
        return texture, texture >= 0 and int(model["tex_type"][texture]) == _TEXTURE_2D

    def _pixels(self, texture: int) -> npt.NDArray[np.uint8]:
        model = self._model
        height, width = int(model["tex_height"][texture]), int(model["tex_width"][texture])
        depth = int(model["tex_nchannel"][texture]) if "tex_nchannel" in model.arrays else 3
        start = int(model["tex_adr"][texture])
        data = model["tex_data"] if "tex_data" in model.arrays else model["tex_rgb"]
        pixels: npt.NDArray[np.uint8] = np.asarray(
            data[start : start + height * width * depth], dtype=np.uint8
        ).reshape(height, width, depth)
        return pixels

    def _png(self, texture: int) -> bytes:
        from PIL import Image

        pixels = self._pixels(texture)
        out = io.BytesIO()
        Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(out, "PNG")
        return out.getvalue()

    def _mean_color(
        self, geom: int, surface: description.Surface
    ) -> tuple[float, float, float, float]:
        texture, _ = self._texture(geom)
        mean = self._pixels(texture)[:, :, :3].mean(axis=(0, 1)) / 255.0
        r, g, b = (c * m for c, m in zip(surface.color, np.resize(mean, 3).tolist(), strict=False))
        return r, g, b, surface.color[3]

    def _shown_plane(self, geom: int) -> description.ShapeGeometry:
        """The rectangle that MuJoCo draws; without a size, the visual of any infinite plane."""
        model = self._model
        x, y, _ = vector(model["geom_size"][geom])
        texture, is_flat = self._texture(geom)
        if x <= 0.0 or y <= 0.0:
            if texture < 0 or not is_flat:
                return description.PlaneShape((0.0, 0.0, 1.0))
            x, y = x or 50.0, y or 50.0
        points = np.array([[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]])
        uvs = None
        if is_flat:
            material = int(model["geom_matid"][geom])
            repeat = np.asarray(model["mat_texrepeat"][material], dtype=np.float64)
            is_uniform = bool(model["mat_texuniform"][material])
            uvs = (
                points[:, :2] * repeat if is_uniform else (points[:, :2] / (x, y) + 1) / 2 * repeat
            )
        normals = np.tile((0.0, 0.0, 1.0), (4, 1))
        triangles = np.array([[0, 1, 2], [0, 2, 3]])
        return description.MeshShape(
            description.MeshGeometry(points, triangles, normals, uvs, name="plane")
        )

    # --- meshes -------------------------------------------------------------------------------

    def _corners(self, mesh: int) -> tuple[FloatArray, npt.NDArray[Any]]:
        model = self._model
        start, count = int(model["mesh_vertadr"][mesh]), int(model["mesh_vertnum"][mesh])
        first, faces = int(model["mesh_faceadr"][mesh]), int(model["mesh_facenum"][mesh])
        points = np.asarray(model["mesh_vert"][start : start + count], dtype=np.float64)
        return points, model["mesh_face"][first : first + faces].astype(np.intp)

    def _drawn_mesh(self, mesh: int) -> description.MeshGeometry:
        """The triangles with normals and texture coordinates, one point per distinct corner."""
        model = self._model
        points, faces = self._corners(mesh)
        first = int(model["mesh_faceadr"][mesh])
        rows = slice(first, first + len(faces))
        columns = [faces.reshape(-1)]
        normal_start, normal_count = (
            int(model[f"mesh_normal{what}"][mesh]) for what in ("adr", "num")
        )
        columns.append(model["mesh_facenormal"][rows].reshape(-1))
        uv_start = int(model["mesh_texcoordadr"][mesh])
        if uv_start >= 0:
            columns.append(model["mesh_facetexcoord"][rows].reshape(-1))
        corners, triangles = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        normals = model["mesh_normal"][normal_start : normal_start + normal_count]
        uvs = None
        if uv_start >= 0:
            uvs = np.asarray(model["mesh_texcoord"][uv_start + corners[:, 2]], dtype=np.float64)
        return description.MeshGeometry(
            points[corners[:, 0]],
            triangles.reshape(-1, 3).astype(np.intp),
            np.asarray(normals[corners[:, 1]], dtype=np.float64),
            uvs,
            name=model.name_of("mesh", mesh),
        )

    def _hull_of_mesh(self, mesh: int) -> description.MeshGeometry:
        """The triangles whose hull MuJoCo collides with: all, or the hull if it is simpler."""
        model = self._model
        points, faces = self._corners(mesh)
        name = model.name_of("mesh", mesh)
        most = int(model.facts["hull_limits"].get(name, -1))
        at = int(model["mesh_graphadr"][mesh])
        if most > 3 and at >= 0:
            # Counts, edge starts, vertex numbers, edges (3 for each face and 1 for each vertex).
            corners, triangles = (int(v) for v in model["mesh_graph"][at : at + 2])
            start = at + 2 + 2 * corners + corners + 3 * triangles
            faces = model["mesh_graph"][start : start + 3 * triangles].reshape(-1, 3)
            used, faces = np.unique(faces, return_inverse=True)
            points, faces = points[used], faces.reshape(-1, 3)
        return description.MeshGeometry(points, faces.astype(np.intp), name=name)

    def _height_field(self, number: int) -> description.MeshGeometry:
        """The surface with its sides and bottom; rows go along y, columns along x."""
        model = self._model
        rows, columns = int(model["hfield_nrow"][number]), int(model["hfield_ncol"][number])
        half_x, half_y, top, below = (float(v) for v in model["hfield_size"][number])
        start = int(model["hfield_adr"][number])
        heights = np.asarray(model["hfield_data"][start : start + rows * columns], dtype=np.float64)
        x, y = np.meshgrid(
            np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows)
        )
        upper = np.column_stack([x.ravel(), y.ravel(), heights * top])
        corner = np.arange(rows * columns).reshape(rows, columns)
        a, b = corner[:-1, :-1].ravel(), corner[:-1, 1:].ravel()
        c, d = corner[1:, :-1].ravel(), corner[1:, 1:].ravel()
        surface = np.concatenate([np.column_stack([a, b, d]), np.column_stack([a, d, c])])
        rim = np.concatenate([corner[0], corner[1:, -1], corner[-1, -2::-1], corner[-2:0:-1, 0]])
        lower = upper[rim] * (1.0, 1.0, 0.0) - (0.0, 0.0, below)
        low = np.arange(len(rim)) + len(upper)
        after, low_after = np.roll(rim, -1), np.roll(low, -1)
        sides = np.concatenate(
            [np.column_stack([rim, low, low_after]), np.column_stack([rim, low_after, after])]
        )
        middle = len(upper) + len(lower)
        bottom = np.column_stack([low, np.full(len(low), middle), low_after])
        points = np.concatenate([upper, lower, [[0.0, 0.0, -below]]])
        triangles = np.concatenate([surface, sides, bottom])
        return description.MeshGeometry(
            points, triangles.astype(np.intp), name=model.name_of("hfield", number)
        )
