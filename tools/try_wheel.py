"""Install a wheel as on a new machine, and load and step a ragdoll there.

    python -m tools.try_wheel dist/gltf_bullet-0.1.0-py3-none-manylinux_2_17_x86_64.whl

The environment is empty, the home folder too. Nothing may be compiled: Numba and LLVM are not
installed, no kernels are kept, nothing is said about compiling. Ends with 1 where the installation
is larger, or the first load slower, than promised.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
RAGDOLL = ROOT / "examples" / "assets" / "ragdoll.gltf"
MOST_MEGABYTES = 650
MOST_SECONDS = 3.0
COMPILERS = {"numba", "llvmlite"}

PROGRAM = """
import json, sys, time
start = time.perf_counter()
import pybullet
import gltf_bullet as gb
pybullet.connect(pybullet.DIRECT)
pybullet.setGravity(0, 0, -9.81)
scene = gb.load_gltf(sys.argv[1])
loaded = time.perf_counter()
before = scene.node_matrices.copy()
scene.step(240)
assert abs(scene.node_matrices - before).max() > 0.1, "the ragdoll does not fall"
from gltf_bullet.numba_aot.library import package_library
print(json.dumps({
    "load": loaded - start,
    "step": (time.perf_counter() - loaded) / 240,
    "library": str(package_library().path),
    "modules": sorted(sys.modules),
}))
"""


def megabytes(folder: Path) -> float:
    """What the files of a folder take on the disk [MiB]."""
    blocks = {(s.st_dev, s.st_ino): s.st_blocks for s in map(os.lstat, folder.rglob("*"))}
    return 512 * sum(blocks.values()) / 2**20


def try_wheel(wheel: Path, python: str, folder: Path) -> list[str]:
    """Install and run it in a folder; what is not as promised."""
    # Bytecode belongs to the installation, wherever this process keeps its own.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True, env=clean)
    own = folder / "venv" / "bin" / "python"
    pip = [str(own), "-m", "pip", "--disable-pip-version-check"]
    start = time.perf_counter()
    subprocess.run([*pip, "install", "--quiet", str(wheel.resolve())], check=True, env=clean)
    installing = time.perf_counter() - start
    listed = subprocess.run(
        [*pip, "list", "--format=json"], check=True, capture_output=True, env=clean
    )
    names = {row["name"].lower() for row in json.loads(listed.stdout)}
    [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
    size = megabytes(packages)

    home = folder / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.defpath}
    command = [str(own), "-c", PROGRAM, str(RAGDOLL)]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    whole = time.perf_counter() - start
    if done.returncode:
        return [done.stderr]
    said = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{wheel.name}\n"
        f"  installed with {python} in {installing:.0f} s: {len(names)} packages, {size:.0f} MB\n"
        f"  first load of a ragdoll: {said['load']:.2f} s from the first import on, "
        f"{whole:.2f} s for the process; a step: {1e6 * said['step']:.0f} us\n"
        f"  kernels: {Path(said['library']).name}"
    )
    kept = [str(path) for path in home.rglob("*kernels*")]
    checks = {
        f"{names & COMPILERS} are installed": not names & COMPILERS,
        f"{COMPILERS & set(said['modules'])} were imported": not COMPILERS & set(said["modules"]),
        f"kernels are kept: {kept}": not kept,
        f"it says: {done.stderr}": "compil" not in done.stderr,
        f"{said['library']} is not the wheel's": Path(said["library"]).is_relative_to(packages),
        f"{size:.0f} MB are more than {MOST_MEGABYTES}": size <= MOST_MEGABYTES,
        f"{said['load']:.2f} s are more than {MOST_SECONDS}": said["load"] <= MOST_SECONDS,
    }
    return [complaint for complaint, is_fine in checks.items() if not is_fine]


def main() -> None:
    parser = argparse.ArgumentParser(description="Try a wheel in an empty environment.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="interpreter to install it for")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        complaints = try_wheel(arguments.wheel, arguments.python, Path(folder))
    for complaint in complaints:
        print(f"error: {complaint}", file=sys.stderr)
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
