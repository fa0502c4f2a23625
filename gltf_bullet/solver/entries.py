"""The kernels that Python calls; everything else is compiled into them."""

from __future__ import annotations

from functools import cache

from gltf_bullet.numba_aot import is_compiled, load
from gltf_bullet.solver.contact_following import follow_contacts
from gltf_bullet.solver.step_kernel import evaluate, prepare, solve

__all__ = ["evaluate", "follow_contacts", "load_entries", "prepare", "solve"]


@cache
def load_entries() -> None:
    """Load all kernels; compile them where no library fits and Numba is there.

    Called where the first articulation is created: scenes without joints do without.
    """
    if is_compiled():
        from gltf_bullet.numba_aot.builds import compile_package

        compile_package()
        load()
