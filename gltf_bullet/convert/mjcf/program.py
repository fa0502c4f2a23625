"""The child process in which MuJoCo compiles a model: ``python program.py FILE OUT``.

MuJoCo is C++ that ends the process on some errors, and models can ask for any amount of memory and
time; none of that reaches the caller. The output is arrays and JSON, no code.
"""

import contextlib
import json
import sys

_PREFIXES = (
    "body_", "jnt_", "dof_", "geom_", "mesh_", "hfield_", "mat_", "tex_", "site_", "cam_",
    "actuator_", "eq_", "key_", "pair_", "exclude_", "tendon_", "wrap_", "qpos",
)  # fmt: skip
_LEFT = ("_bvh", "_oct", "_user", "_plugin", "_history", "mesh_poly", "mesh_extrema")
_NAMED = (
    "body", "jnt", "geom", "site", "cam", "mesh", "mat", "tex", "actuator", "eq", "key", "tendon",
    "sensor", "light", "skin", "flex", "hfield",
)  # fmt: skip
_OPTIONS = (
    "gravity", "timestep", "density", "viscosity", "wind", "disableflags", "integrator",
)  # fmt: skip
_FAILED = 3


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # macOS refuses a bound below what a process has mapped already: the starting one has a
        # clock.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (least, least))


def main() -> None:
    """Compile the model and write its arrays."""
    source, target, seconds, memory = sys.argv[1:5]
    import mujoco
    import numpy as np

    # After the import: address space of libraries does not count for the model.
    _limit(int(seconds), int(memory))
    try:
        spec = mujoco.MjSpec.from_file(source)
        model = spec.compile()
    except Exception as error:
        print(" ".join(str(error).split()), flush=True)
        sys.exit(_FAILED)
    arrays = {}
    for name in dir(model):
        if name.startswith(_PREFIXES) and not any(left in name for left in _LEFT):
            value = getattr(model, name)
            if isinstance(value, np.ndarray):
                arrays[name] = value
    names = {}
    for kind in _NAMED:
        starts = np.asarray(getattr(model, f"name_{kind}adr", ())).ravel().tolist()
        names[kind] = [
            model.names[start : model.names.index(b"\0", start)].decode("utf-8", "replace")
            for start in starts
        ]
    facts = {
        "version": mujoco.__version__,
        "name": spec.modelname,
        "names": names,
        "options": {key: np.asarray(getattr(model.opt, key)).tolist() for key in _OPTIONS},
        "counts": {key: int(getattr(model, key, 0)) for key in ("nq", "nv", "nu", "nmocap")},
        "hull_limits": {mesh.name: int(mesh.maxhullvert) for mesh in spec.meshes},
        "composed": [key for key in ("nflex", "nskin", "nplugin") if getattr(model, key, 0)],
    }
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(target, allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
