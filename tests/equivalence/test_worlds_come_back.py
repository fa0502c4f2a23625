"""Ten worlds that were exported load back as they were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial import ConvexHull, cKDTree

import gltf_bullet as gb
from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.convert.description import (
    BallShape,
    BoxShape,
    JointKind,
    LinkDescription,
    MeshShape,
    PlaneShape,
    RoundShape,
    WorldDescription,
)
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.meshes import read_mesh
from gltf_bullet.model import DEFAULT_MATERIAL
from gltf_bullet.model import MeshShape as FileMesh
from gltf_bullet.transforms import FloatArray
from tests.convert.test_worlds import WORLDS, World, look
from tests.figures import Figure


def heavy_links(world: WorldDescription) -> list[LinkDescription]:
    # Links without mass get 1e-6 of the lightest one's.
    return [link for body in world.bodies for link in body.links if link.mass > 1e-3]


def center(link: LinkDescription) -> FloatArray:
    return np.array(link.world_from_link.apply(link.link_from_inertial.translation))


def inertia(link: LinkDescription) -> FloatArray:
    """The tensor about the centre of mass in world axes: diagonals may come in another order."""
    turn = (link.world_from_link @ link.link_from_inertial).matrix()[:3, :3]
    return turn @ np.diag(link.inertia_diagonal) @ turn.T


def twins(native: WorldDescription, again: WorldDescription) -> list[tuple[LinkDescription, ...]]:
    """Links that weigh the same in the same place, or as near to that as there are."""
    wanted, found = heavy_links(native), heavy_links(again)
    assert len(found) == len(wanted)
    pairs = []
    for link in wanted:
        apart = [
            np.abs(center(other) - center(link)).max() + abs(other.mass - link.mass)
            for other in found
        ]
        pairs.append((found.pop(int(np.argmin(apart))), link))
    return pairs


def limits(world: WorldDescription) -> list[tuple[str, str, float, float]]:
    """Of all hinges and slides: kind, name, lower and upper [rad, m]."""
    return sorted(
        (k.joint.kind.value, k.joint.name, k.joint.lower, k.joint.upper)
        for body in world.bodies
        for k in body.links
        if k.joint is not None and k.joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
    )


def worst(found: object, wanted: object) -> float:
    """The largest difference of numbers that belong together; the same infinity is none."""
    one, other = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(one == other, 0.0, np.abs(one - other)), initial=0.0))


class PlacedShape(NamedTuple):
    """A shape by points of it in the world [m]."""

    kind: str
    points: FloatArray
    radius: float = 0.0


def placed_shapes(world: WorldDescription) -> list[PlacedShape]:
    found = []
    for link in (link for body in world.bodies for link in body.links):
        for collider in link.colliders:
            placed = (link.world_from_link @ collider.link_from_shape).matrix()
            match collider.shape:
                case BoxShape(size):
                    corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
                    kind, points, radius = "box", corners * size, 0.0
                case BallShape(radius):
                    kind, points = "ball", np.zeros((1, 3))
                case RoundShape(radius, height, is_capsule):
                    kind = "capsule" if is_capsule else "cylinder"
                    points = np.array([[0, 0, -0.5 * height], [0, 0, 0.5 * height]])
                case PlaneShape(normal):
                    kind, points, radius = "plane", np.array([(0, 0, 0), normal]), 0.0
                case MeshShape(geometry, is_convex):
                    kind, radius = "hull" if is_convex else "triangles", 0.0
                    points = geometry.points[np.unique(geometry.triangles)]
            found.append(PlacedShape(kind, points @ placed[:3, :3].T + placed[:3, 3], radius))
    return found


def hulls_of_file(scene: gb.Scene) -> list[PlacedShape]:
    """As the file has them, before an engine gets them."""
    found = []
    for collider in scene.asset.physics.colliders.values():
        if isinstance(collider.shape, FileMesh) and collider.shape.convex_hull:
            placed = scene.world_from_node(collider.node)
            (part,) = collider.shape.parts
            assert part.shape_from_part is None
            mesh = read_mesh(scene.asset.document, part.mesh, Diagnostics())
            assert mesh is not None
            points = np.concatenate([primitive.positions for primitive in mesh.primitives])
            found.append(PlacedShape("hull", points @ placed[:3, :3].T + placed[:3, 3]))
    return found


def point_distance(one: PlacedShape, other: PlacedShape) -> float:
    """[m] Of the point, or the surface, that is farthest from its like."""
    a, b = one.points, other.points
    gaps = [*cKDTree(a).query(b)[0], *cKDTree(b).query(a)[0], abs(one.radius - other.radius)]
    return float(np.max(gaps))


def surface_distance(one: PlacedShape, other: PlacedShape) -> float:
    """How far a corner of a hull is out of the other [m]: some lie within faces."""
    out = [
        ConvexHull(hull.points).equations @ np.c_[points, np.ones(len(points))].T
        for hull, points in ((one, other.points), (other, one.points))
    ]
    return float(max(np.max(out[0]), np.max(out[1])))


def pairs_of(
    found: Sequence[PlacedShape], wanted: Sequence[PlacedShape]
) -> list[tuple[PlacedShape, PlacedShape]]:
    """Each shape with the one of its kind that is nearest to it."""
    assert sorted(shape.kind for shape in found) == sorted(shape.kind for shape in wanted)
    rest, pairs = list(found), []
    for shape in wanted:
        apart = [
            np.abs(other.points.mean(axis=0) - shape.points.mean(axis=0)).max()
            + np.abs(np.ptp(other.points, axis=0) - np.ptp(shape.points, axis=0)).max()
            if other.kind == shape.kind
            else np.inf
            for other in rest
        ]
        pairs.append((rest.pop(int(np.argmin(apart))), shape))
    return pairs


@pytest.mark.parametrize("build", WORLDS, ids=lambda build: build.__name__)
def test_a_world_comes_back_equal(build: World, tmp_path: Path, figure: Figure) -> None:
    path = tmp_path / "world.glb"
    with headless_world() as client:
        built = build(client)
        native = read_world(client, None, Diagnostics())
        gb.export_world(path, client)
        pictures = [look(client)]
    with headless_world() as client:
        scene = gb.load_gltf(path, physics_client=client)
        again = read_world(client, None, Diagnostics())
        pictures.append(look(client))
        figure("errors", sum(issue.is_error for issue in scene.issues), most=0)
    pairs = twins(native, again)
    for name, unit, value in (
        ("positions", "m", center),
        ("masses", "kg", lambda link: link.mass),
        ("inertias", "kg m^2", inertia),
        ("velocities", "m/s", lambda link: link.linear_velocity),
        ("angular velocities", "rad/s", lambda link: link.angular_velocity),
    ):
        apart = [worst(value(found), value(wanted)) for found, wanted in pairs]
        figure(name, max(apart, default=0.0), most=1e-6, unit=unit)
    found_limits, wanted_limits = limits(again), limits(native)
    assert [row[:2] for row in found_limits] == [row[:2] for row in wanted_limits]
    apart = worst([row[2:] for row in found_limits], [row[2:] for row in wanted_limits])
    figure("limits", apart, most=1e-6, unit="rad, m")
    stated = [
        (k.friction, k.restitution) for b in native.bodies for k in b.links for _ in k.colliders
    ]
    if isinstance(built, gb.Scene):  # has the materials of its file, not the engine's share of them
        materials = [c.material or DEFAULT_MATERIAL for c in built.asset.physics.colliders.values()]
        stated = [(m.dynamic_friction, m.restitution) for m in materials]
    written = [c.material for c in gb.read_asset(path).physics.colliders.values()]
    found_surfaces = sorted((m.dynamic_friction, m.restitution) for m in written if m)
    figure("friction, restitution", worst(found_surfaces, sorted(stated)), most=1e-6)
    assert again.gravity is None or again.gravity == pytest.approx((0.0, 0.0, -9.81))
    shade = float(np.abs(pictures[0] - pictures[1]).mean())
    figure("pictures, of 255 on average", shade, most=2.0)


@pytest.mark.parametrize("build", WORLDS, ids=lambda build: build.__name__)
def test_placed_shapes_come_back(build: World, tmp_path: Path, figure: Figure) -> None:
    """Of what moves and what stands; Bullet cuts corners of hulls down once, not again."""
    path = tmp_path / "world.glb"
    with headless_world() as client:
        build(client)
        wanted = placed_shapes(read_world(client, None, Diagnostics()))
        gb.export_world(path, client)
    with headless_world() as client:
        scene = gb.load_gltf(path, physics_client=client)
        found = placed_shapes(read_world(client, None, Diagnostics()))
        in_file = hulls_of_file(scene)
    pairs = pairs_of(found, wanted)
    figure("shapes that are missing or too many", abs(len(found) - len(wanted)), most=0)
    apart = [point_distance(*pair) for pair in pairs if pair[0].kind != "hull"]
    figure("shapes but hulls", max(apart, default=0.0), most=1e-6, unit="m")
    kept = pairs_of(in_file, [shape for shape in wanted if shape.kind == "hull"])
    apart = [point_distance(*pair) for pair in kept]
    figure("hulls in the file", max(apart, default=0.0), most=1e-6, unit="m")
    apart = [surface_distance(*pair) for pair in pairs if pair[0].kind == "hull"]
    figure("hulls in the engine", max(apart, default=0.0), most=1e-6, unit="m")
