"""The versions of what runs: package, Python, PyBullet with its distribution, kernels."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec

import gltf_bullet.solver  # noqa: F401  # says where the kernels are
from gltf_bullet.numba_aot.library import is_compiled, package_library
from gltf_bullet.version import __version__


def versions() -> list[str]:
    """Lines for people and for reports of faults."""
    return [
        f"gltf_bullet {__version__}",
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}",
        engine_line(packages_distributions().get("pybullet", ())),
        kernel_line(),
    ]


def engine_line(names: Sequence[str]) -> str:
    """Say which PyBullet it is.

    Args:
        names: Distributions that hold the module ``pybullet``: with two of them it is of the one
            that was installed last.
    """
    found = sorted({f"{version(name)} ({name})" for name in names})
    if found:
        more = ": both write the same files; uninstall both, then install one" * (len(found) > 1)
        return f"PyBullet {', '.join(found)}{more}"
    spec = find_spec("pybullet")
    return f"PyBullet without a distribution, {spec.origin}" if spec else "PyBullet is missing"


def kernel_line() -> str:
    """Say what the joint solver is here."""
    if not is_compiled():
        return "joint solver: plain Python, slow (explain SOLVER_NOT_COMPILED)"
    library = package_library()
    if library is None:
        return "joint solver: JIT, compiled by Numba at first use"
    return f"joint solver: library {library.path.name}"
