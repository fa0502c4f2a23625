"""Content that the simulation does not need: its reading errors are reported as warnings.

Pictures, skins and channels of animations are read by the functions that also read collision
geometry, for which a wrong accessor is an error. Readers of dispensable content use a sink of
their own.
"""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.gltf.accessors import ACCESSOR_OF_ZEROS, ACCESSOR_TOO_LARGE
from gltf_bullet.gltf.buffer_views import (
    ACCESSOR_OUT_OF_BOUNDS,
    BUFFER_VIEW_OUT_OF_BOUNDS,
)
from gltf_bullet.gltf.buffers import (
    BUFFER_MISSING,
    BUFFER_SHORT,
    BUFFER_TOO_LARGE,
    URI_MALFORMED,
    URI_REFUSED,
)
from gltf_bullet.gltf.draco import DRACO_PACKAGE_MISSING, DRACO_TOO_LARGE, DRACO_UNREADABLE
from gltf_bullet.gltf.meshopt import (
    MESHOPT_PACKAGE_MISSING,
    MESHOPT_TOO_LARGE,
    MESHOPT_UNREADABLE,
)

PASSED_OVER = warning("PASSED_OVER", "{got}; {instead}")

_WHOLE_FILE: Final = frozenset(
    {
        ACCESSOR_OF_ZEROS, ACCESSOR_OUT_OF_BOUNDS, ACCESSOR_TOO_LARGE, BUFFER_MISSING,
        BUFFER_SHORT, BUFFER_TOO_LARGE,
        BUFFER_VIEW_OUT_OF_BOUNDS, DRACO_PACKAGE_MISSING, DRACO_TOO_LARGE,
        DRACO_UNREADABLE, MESHOPT_PACKAGE_MISSING, MESHOPT_TOO_LARGE, MESHOPT_UNREADABLE,
        URI_MALFORMED, URI_REFUSED,
    }
)  # fmt: skip
"""Errors in any content: data that is missing or truncated, and limits of reading."""


def do_without(found: Diagnostics, instead: str, diagnostics: Diagnostics) -> None:
    """Report the issues ``found``, errors as warnings that end with ``instead``."""
    for issue in found:
        if issue.refuses and issue.kind not in _WHOLE_FILE:
            diagnostics.report(PASSED_OVER, issue.pointer, got=issue.message, instead=instead)
        else:
            diagnostics.extend([issue])
