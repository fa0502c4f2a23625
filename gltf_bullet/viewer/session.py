"""One file being looked at: loading and reloading. Knows no window."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from gltf_bullet.errors import AssetError, GltfBulletError, TranslationError
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.viewer.file_watch import FileWatch, referenced_files
from gltf_bullet.viewer.playback import Playback
from gltf_bullet.viewer.view_options import ViewOptions

__all__ = ["Session"]


class Session(Playback):
    """A file in a world of ours, played in real time; a bad file is no exception but a state."""

    def __init__(
        self,
        path: Path,
        client_id: int,
        options: ViewOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        loading: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Load the file, if it can be.

        Args:
            path: The glTF file; also one that is not there yet.
            client_id: The PyBullet world; everything in it advances with the scene.
            options: How it is looked at; the world's own settings and layers are not touched.
            clock: Seconds, from anywhere.
            loading: What is entered while bodies are made and removed.
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
        """Of the file."""
        return self.path.name

    def reload(self) -> bool:
        """Read the file anew; the old scene stays where that fails. Returns whether it worked."""
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
        """:meth:`reload` when a file has changed; whether there was an attempt."""
        if not self._watch.poll():
            return False
        self.reload()
        return True
