"""Joint forces from arrays: dynamics, limits, drives and contacts of articulations."""

from __future__ import annotations

from pathlib import Path

from gltf_bullet.numba_aot.library import Project, configure

_HERE = Path(__file__).parent

configure(
    Project(
        name="gltf_bullet",
        title="the joint solver",
        duration="under a minute",
        hint="pip install 'gltf_bullet[jit]'",
        sources=(_HERE.with_name("numba_aot"), _HERE),
        libraries=_HERE / "compiled",
    )
)
