"""Options of loading: choices that a file cannot make, as one documented value."""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Visuals: TypeAlias = Literal["mesh", "auto", "collider", "none"]
"""Appearance of a scene's bodies."""


_STAND_IN_POINTS = 256
"""Most vertices of hulls that only approximate another shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """Options of translating an asset. The defaults follow the specifications."""

    strict: bool = False
    """Raise :class:`~gltf_bullet.errors.TranslationError` if the engine would approximate."""
    density: float = 1000.0
    """Density [kg/m^3] of bodies whose mass the file leaves to the engine."""
    concave: Literal["auto", "decompose", "hull", "bvh"] = "auto"
    """Treatment of moving concave meshes. ``auto``: triangles if every partner that the filters
    admit is convex (Bullet collides those well), else convex parts. ``decompose``: always convex
    parts. ``hull``: one convex hull. ``bvh``: always triangles, which fall through planes and
    meshes."""
    max_hull_points: int = 1024
    """Most vertices of a convex hull; Bullet's cost per contact grows with them. Convex parts have
    at most 256; round shapes as many, a dozen at least, and four times as many if they do not
    move."""
    max_convex_parts: int = 32
    """Most convex parts of one decomposed mesh."""
    decomposition_threshold: float = 0.05
    """Concavity that coacd tolerates, relative to the mesh's size (its own default)."""
    fine_search_parts: int = 6
    """Most parts [count] of a mesh's coarse decomposition for which ``decomposition_threshold`` is
    searched for; a mesh that needs more, or that cannot be simplified to 2000 triangles, keeps the
    coarse parts. It bounds the work by a count, so that no machine finds other parts."""
    decomposition_seconds: float = 30.0
    """Watchdog: computing time [s] of each concave mesh; if it strikes, coarser parts or a hull
    replace the mesh, an issue says so, and nothing is cached. ``0``: only what is cached."""
    progress: Callable[[str, float], object] | None = field(default=None, compare=False, repr=False)
    """Called during work that takes seconds, with its name and the share of its time, 0..1."""
    cache_folder: str | os.PathLike[str] | None = None
    """Folder in which hulls, convex parts and baked meshes are cached for other processes, half a
    gigabyte at most; ``None``: the folder in ``GLTF_BULLET_CACHE``, else the user's cache
    folder."""
    visuals: Visuals = "mesh"
    """Visual shapes: the file's meshes, the collision shapes, or nothing. ``auto``: meshes, and the
    collision shapes of moving bodies without any."""
    visual_vertices: int = 2_000_000
    """Limit of the drawn vertices of all bodies together; above it meshes become coarser. PyBullet
    keeps a copy per body, 170 bytes per vertex."""
    visual_texels: int = 2**26
    """Limit of the texels of all bodies together; above it textures become coarser. PyBullet keeps
    a copy per body, 3 bytes per texel."""
    visual_files: bool = False
    """Pass meshes to PyBullet as files instead of from memory: two to five times slower, and
    required by PyBullet's EGL renderer. Set it in clients in which you have loaded that plugin: a
    mesh from memory ends the process there."""
    link_names: bool = True
    """Jointed bodies keep the names of their nodes, their limits and efforts in ``getJointInfo``
    and ``getBodyInfo``, at about the cost of ``loadURDF``. ``False``: their names are ``link1`` and
    ``joint1``, and equal ones share their collision shapes: for hundreds of copies in one world."""
    batch_size: int = 64
    """Number of equal bodies from which on they are created in one call, seven times faster.
    PyBullet then answers ``getNumBodies`` and ``getBodyInfo`` for them only after
    ``syncBodyInfo()``."""
    play_animations: bool = True
    """Run the file's animations from the first step on."""
    loop_animations: bool = True
    """Start them over at their ends, as viewers do: glTF does not say. ``False``: each ends at its
    last key. ``scene.animations[...].loop`` sets it for one."""
    behavior: bool = True
    """Run the file's behavior graph (KHR_interactivity), which then starts the animations.
    ``False``: the graph is ignored, and animations play as in any other file."""
    behavior_budget: int = 100_000
    """Most activations of nodes in one step; above it a graph counts as endless and is stopped."""
    world_gravity: Literal["file", "engine"] = "file"
    """World gravity if the file states one (OMI). ``file``: it acts on this scene's bodies as a
    force that corrects the engine's setting, which stays yours: of several files in one world each
    has its own, and other bodies have yours. ``engine``: your setting acts everywhere. Files that
    state none always get the engine's."""
    substeps: int | Literal["auto"] = "auto"
    """Engine steps per step, solve of the joints included. ``auto``: a number that follows from the
    file and the time step alone, 1 for nearly every file at 1/240 s, and never changes with what
    moves: see ``STEP_DIVIDED``. The largest number of all scenes in the world counts."""
    slip_friction: bool = True
    """Switch each body between static and dynamic friction by its slip if the two differ;
    ``False``: always the dynamic value."""

    @property
    def stand_in_points(self) -> int:
        """Most vertices of a hull that replaces a part of a concave mesh or a round shape."""
        return min(self.max_hull_points, _STAND_IN_POINTS)

    def __post_init__(self) -> None:
        if not 0.0 < self.density <= sys.float_info.max:
            raise ValueError(f"density is {reprlib.repr(self.density)}; must be > 0 and finite")
        if self.fine_search_parts < 0:
            raise ValueError(f"fine_search_parts is {self.fine_search_parts}; must be at least 0")
        if not 0.0 <= self.decomposition_seconds <= 86400.0:
            got = self.decomposition_seconds
            raise ValueError(f"decomposition_seconds is {got}; must be in 0..86400")
        if not 0.0 < self.decomposition_threshold <= 1.0:
            # coacd's own bounds are 0.01..1, into which it moves other values.
            got = self.decomposition_threshold
            raise ValueError(f"decomposition_threshold is {got}; must be in 0..1")
        if self.concave not in ("auto", "decompose", "hull", "bvh"):
            raise ValueError(f"concave is {self.concave!r}; must be auto, decompose, hull or bvh")
        if self.visuals not in ("mesh", "auto", "collider", "none"):
            raise ValueError(f"visuals is {self.visuals!r}; must be mesh, auto, collider or none")
        if self.world_gravity not in ("file", "engine"):
            raise ValueError(f"world_gravity is {self.world_gravity!r}; must be file or engine")
        is_number = isinstance(self.substeps, int) and not isinstance(self.substeps, bool)
        if self.substeps != "auto" and not (is_number and 1 <= self.substeps <= 100):
            raise ValueError(f"substeps is {self.substeps!r}; must be auto or an int in 1..100")
        for name in ("visual_vertices", "visual_texels"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; must be > 0")
        if self.behavior_budget < 1:
            raise ValueError(f"behavior_budget is {self.behavior_budget}; must be > 0")
        if not 4 <= self.max_hull_points <= 4096:
            raise ValueError(f"max_hull_points is {self.max_hull_points}; must be in 4..4096")
        if not 1 <= self.max_convex_parts <= 200:
            # One OBJ of 200 hulls is measured to work; more is unknown ground.
            raise ValueError(f"max_convex_parts is {self.max_convex_parts}; must be in 1..200")


def require_options(options: LoadOptions | None) -> LoadOptions:
    """The options; the defaults for ``None``.

    Raises:
        TypeError: The value is no ``LoadOptions``.
    """
    if options is None:
        return _DEFAULTS
    if not isinstance(options, LoadOptions):
        raise TypeError(f"options is a {type(options).__name__}; must be LoadOptions(...) or None")
    return options


_DEFAULTS = LoadOptions()
