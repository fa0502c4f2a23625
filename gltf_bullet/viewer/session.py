"""One viewed file: loading, reloading, watching for changes. Independent of windows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.errors import AssetError, GltfBulletError, TranslationError
from gltf_bullet.gltf.buffers import LONGEST_PATH
from gltf_bullet.options import LoadOptions
from gltf_bullet.records import replace
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.placement import UpAxis
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.transforms import Vec3
from gltf_bullet.viewer.playback import Playback

# --- Options of both viewers ----------------------------------------------------------------------


class ViewOptions(Struct, frozen=True, kw_only=True):
    """Options of viewing a file, in the window and in the browser."""

    load: LoadOptions = msgspec_field(default_factory=LoadOptions)
    """Options of loading; :attr:`visuals` overrides theirs."""
    up_axis: UpAxis = "z"
    """``"z"`` turns the asset up into a Z-up world, ``"y"`` keeps glTF's axes."""
    gravity: Vec3 = (0.0, 0.0, -9.81)
    """Gravity [m/s^2], world axes."""
    time_step: float = 1.0 / 240.0
    """Time step of the engine [s]."""
    speed: float = 1.0
    """Simulated seconds per second."""
    play: bool = True
    """True to start the time at once."""
    visuals: Shown = "auto"
    """``"mesh"``, ``"collider"``, or ``"auto"``: meshes if the file has any."""
    show: Sequence[str] = ("joints",)
    """Layers that are on at first."""
    floor: bool = False
    """True to put a floor through the world's origin."""
    seconds: float = float("inf")
    """Stop after this time of the clock [s]."""


# --- Changes on disk of a file or of a file that it refers to -------------------------------------

_Signature: TypeAlias = "tuple[int, int, int] | None"


def referenced_files(path: Path) -> tuple[Path, ...]:
    """Buffers and images beside a ``.gltf`` file; none if it cannot be read as JSON.

    The files are only watched here, never opened; the reader decides which ones may be read.
    """
    if path.suffix.lower() != ".gltf":
        return ()
    try:
        root = json.loads(path.read_bytes())
        entries = [e for key in ("buffers", "images") for e in root.get(key, ())]
        uris = [entry["uri"] for entry in entries if isinstance(entry.get("uri"), str)]
    except (OSError, ValueError, AttributeError, TypeError):
        return ()
    return tuple(
        path.parent / unquote(uri)
        for uri in uris
        if uri[:5].lower() != "data:" and len(uri) <= 3 * LONGEST_PATH
    )


class FileWatch:
    """Detects changes of files, each once, when the writing is over."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths: tuple[Path, ...] = ()
        self._known: tuple[_Signature, ...] = ()
        self._pending: tuple[_Signature, ...] | None = None
        self.follow(paths)

    def follow(self, paths: Iterable[Path]) -> None:
        """Watch these files from now on, starting with their current state."""
        self._paths = tuple(paths)
        self._known = self._signatures()
        self._pending = None

    def poll(self) -> bool:
        """Return True if a file has changed and then stayed the same between two calls."""
        now = self._signatures()
        if now == self._known:
            self._pending = None
            return False
        if now != self._pending:
            self._pending = now
            return False
        self._known, self._pending = now, None
        return True

    def _signatures(self) -> tuple[_Signature, ...]:
        return tuple(_signature(path) for path in self._paths)


def _signature(path: Path) -> _Signature:
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    # Editors often write a new file and rename it over the old one: the inode changes.
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


# --- A viewed file --------------------------------------------------------------------------------


class Session(Playback):
    """A file in a world of its own, played in real time; an invalid file is a state, no error."""

    def __init__(
        self,
        path: Path,
        client_id: int,
        options: ViewOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        loading: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Load the file, if possible.

        Args:
            path: The glTF file, which need not exist yet.
            client_id: The PyBullet world; everything in it advances with the scene.
            options: Options of the viewer; the world's own settings and layers are not touched.
            clock: Returns seconds since any moment.
            loading: Gives a context that is entered while bodies are made and removed.
        """
        options = options or ViewOptions()
        self.path = path
        super().__init__(None, client_id, play=options.play, speed=options.speed, clock=clock)
        self._options = options
        self._loading = loading
        self._watch = FileWatch(())
        self.reload()

    # --- the file -----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    def reload(self) -> bool:
        """Read the file anew; keep the old scene if that fails. Returns True on success."""
        with self._loading():
            return self._reload()

    def _reload(self) -> bool:
        self._watch.follow((self.path, *referenced_files(self.path)))
        try:
            asset = read_asset(self.path)
            shown, up_axis = self._options.visuals, self._options.up_axis
            visuals = asset.automatic_visuals if shown == "auto" else shown
            options = replace(self._options.load, visuals=visuals)
            scene = asset.instantiate(self.client_id, up_axis=up_axis, options=options)
        except (AssetError, TranslationError) as error:
            self.problem = tuple(str(issue) for issue in error.issues if issue.refuses)
            return False
        except (GltfBulletError, OSError) as error:
            self.problem = (str(error),)
            return False
        if self.scene is not None:
            self.scene.remove()
        self._show(scene)
        return True

    def reload_if_changed(self) -> bool:
        """:meth:`reload` if a file has changed; returns True if there was an attempt."""
        if not self._watch.poll():
            return False
        self.reload()
        return True
