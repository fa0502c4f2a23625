"""The exceptions of this library: each one means that an operation cannot proceed.

Findings about content are not exceptions but :class:`gltf_bullet.diagnostics.Issue` values.

::

    GltfBulletError                catch-all; never raised itself
    ├── AssetError                 the file; has .path and .issues
    │   ├── ContainerError         not GLB or JSON, truncated, missing or short buffer
    │   ├── InvalidAssetError      reading finished with ERROR issues; the message lists them
    │   └── UnsupportedAssetError  extensionsRequired names what we do not implement
    ├── TranslationError           strict=True and Bullet cannot express the content; has .issues
    ├── EngineError                a PyBullet call failed or would have failed
    │   └── WorldChangedError      disconnected, reset, or one of our bodies removed by others
    └── SceneRemovedError          a Scene was used after remove()

``ValueError``, ``TypeError`` and ``KeyError`` remain for mistakes in the calling program; an
unknown name is an ``UnknownNameError``, a ``KeyError`` that prints without quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gltf_bullet.printable import printable, printable_lines

if TYPE_CHECKING:
    from gltf_bullet.diagnostics import Issue


class GltfBulletError(Exception):
    """Base class of all exceptions of this library."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())


class AssetError(GltfBulletError):
    """The asset cannot be used; no part of it was put into a world.

    Attributes:
        path: The file as the caller named it, or ``"<memory>"``.
        issues: All findings up to the failure, errors first.
    """

    def __init__(self, path: str, issues: Sequence[Issue]) -> None:
        self.path = path
        self.issues = tuple(sorted(issues, key=lambda issue: issue.kind.severity))
        errors = [issue for issue in self.issues if issue.refuses]
        super().__init__("\n".join(issue.located(path) for issue in errors) or printable(path))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.path, self.issues))


class ContainerError(AssetError):
    """Not GLB or JSON, truncated, or a buffer is missing, short or outside the asset's folder."""


class InvalidAssetError(AssetError):
    """Reading finished with issues of severity ERROR; the message lists all of them."""


class UnsupportedAssetError(AssetError):
    """``extensionsRequired`` names an extension that this library does not implement."""


class TranslationError(GltfBulletError):
    """``LoadOptions(strict=True)`` and the engine cannot express the content exactly."""

    def __init__(self, path: str, issues: Sequence[Issue]) -> None:
        self.path = path
        self.issues = tuple(issues)
        super().__init__("\n".join(issue.located(path) for issue in self.issues))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.path, self.issues))


class UnknownNameError(KeyError):
    """A name, index or pointer that does not exist; its message lists those that do."""

    def __str__(self) -> str:
        # KeyError itself shows its argument as Python would write it.
        return printable_lines(" ".join(map(str, self.args)))


class EngineError(GltfBulletError):
    """A PyBullet call failed, or would have been accepted and gone wrong silently."""


class WorldChangedError(EngineError):
    """The world of a scene is gone, or bodies of the scene are; the message tells why.

    After ``disconnect``, ``resetSimulation``, a client id that was assigned again, or
    ``removeBody`` by other code. ``Scene.remove`` stays harmless.
    """


class SceneRemovedError(GltfBulletError):
    """A :class:`Scene` or one of its handles was used after ``remove()``."""
