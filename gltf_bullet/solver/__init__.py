"""Joint forces from arrays: dynamics, limits, drives and contacts of articulations."""

from __future__ import annotations

from pathlib import Path

from gltf_bullet.numba_aot.library import Project, configure

_HERE = Path(__file__).parent

configure(
    Project(
        name="gltf_bullet",
        title="the joint solver",
        modules=tuple(
            f"gltf_bullet.solver.{name}"
            for name in (
                "step_kernel",
                "engine.stepping",
                "triggers.watching",
                "engine.free_steps",
                "engine.slip",
                "formulas",
            )
        ),  # the contacts' comes with the second
        sources=(_HERE.with_name("numba_aot"), _HERE),
        libraries=_HERE / "compiled",
    )
)
