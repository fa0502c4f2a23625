"""Mutate real files and look for what breaks: ``python -m tools.fuzz --count 500 FOLDER...``.

Each input follows from ``--seed`` and its number alone: ``--only 17`` runs it again in this
process, ``--keep FOLDER`` writes failing inputs. ``--hours 8`` goes on with new seeds until then.
``--kind robots`` changes URDF, SDF and MJCF files of PyBullet's data, ``--kind stages`` those of
OpenUSD, ``--kind graphs`` puts random behavior graphs into the files. ``--calls 2000`` tries random
sequences of calls instead; ``--only`` and ``--hours`` do the same.
Ends with exit code 1 where something failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

# Before the libraries that read them: one thread, and no decompositions of the user's cache.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tools.fuzzing.calls import run_calls
from tools.fuzzing.children import outcomes
from tools.fuzzing.forks import convert_in_forks, import_converters
from tools.fuzzing.mutations import Seeds, mutated
from tools.fuzzing.random_graphs import with_graph
from tools.fuzzing.robots import mutated_robot, robot_seeds, run_robot_trial
from tools.fuzzing.stages import mutated_stage, stage_seeds
from tools.fuzzing.trial import run_trial

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "assets"
HANG_SECONDS = 20.0


def seed_files(folders: list[Path]) -> list[Path]:
    """All .gltf and .glb files of the folders, or the examples without any."""
    return sorted(
        path
        for folder in folders or [EXAMPLES]
        for path in folder.rglob("*")
        if path.suffix in (".gltf", ".glb") and path.stat().st_size < 10**6
    )


class Inputs:
    """Inputs of one kind, each from its seed."""

    def __init__(self, kind: str, folders: list[Path]) -> None:
        self._is_converted = kind in ("robots", "stages")
        make, seeds = _KINDS[kind]
        self._make = partial(make, seeds(folders))
        if self._is_converted:
            import_converters()

    def made(self, seed: str) -> tuple[str, bytes]:
        """The name of the file that it was, and its bytes."""
        return self._make(seed)

    def tried(self, seed: str) -> str:
        """What became of it, in a word; raises ``Failure``."""
        name, data = self.made(seed)
        if not self._is_converted:
            return run_trial(data, seed)
        convert_in_forks()
        return run_robot_trial(name, data, seed)


def _files(folders: list[Path]) -> Seeds:
    return Seeds(seed_files(folders))


_KINDS: dict[str, tuple[Callable[[Any, str], tuple[str, bytes]], Callable[[list[Path]], Any]]] = {
    "files": (mutated, _files),
    "graphs": (with_graph, _files),
    "robots": (mutated_robot, lambda _: robot_seeds()),
    "stages": (mutated_stage, lambda _: stage_seeds()),
}
"""How an input of a kind is made of its seeds, and what those are."""


def campaign(
    inputs: Inputs, seed: str, count: int, keep: Path | None = None
) -> tuple[Counter[str], Counter[str]]:
    """Run ``count`` inputs; how often each outcome came, and each failure."""
    good: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for number, is_good, text in outcomes(
        range(count), lambda number: inputs.tried(f"{seed}/{number}"), HANG_SECONDS
    ):
        if is_good:
            good[text] += 1
            continue
        failed[text] += 1
        if failed[text] <= 3:
            name, data = inputs.made(f"{seed}/{number}")
            sys.stdout.write(f"FAILED seed {seed} number {number} ({name}): {text}\n")
            sys.stdout.flush()
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}-{number}.bin").write_bytes(data)
    return good, failed


def call_campaign(seed: str, count: int) -> tuple[Counter[str], Counter[str]]:
    """Run ``count`` sequences of calls; how often each outcome came, and each failure."""
    good: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    trial = partial(_call_trial, seed)
    for number, is_good, text in outcomes(range(count), trial, HANG_SECONDS):
        (good if is_good else failed)[text.partition(" after ")[0]] += 1
        if not is_good:
            sys.stdout.write(f"FAILED seed {seed} number {number}: {text}\n")
            sys.stdout.flush()
    return good, failed


def _call_trial(seed: str, number: int) -> str:
    return run_calls(f"{seed}/{number}")


def warm_up() -> None:
    """Load the compiled solver before any child is forked, which then need not."""
    run_trial((EXAMPLES / "cart_pole.gltf").read_bytes(), "warm up")


def _seeds_in_time(first: int, hours: float) -> Iterator[int]:
    end = time.monotonic() + 3600.0 * hours
    seed = first
    while True:
        yield seed
        seed += 1
        if time.monotonic() >= end:
            return


def main() -> int:
    """Run a campaign; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="of files; default: the examples")
    parser.add_argument("--count", type=int, default=500, help="inputs per seed")
    parser.add_argument("--seed", type=int, default=None, help="default: from the clock")
    parser.add_argument("--hours", type=float, default=0.0, help="go on with further seeds")
    parser.add_argument("--only", type=int, default=None, help="one number, in this process")
    parser.add_argument("--keep", type=Path, default=None, help="where failing inputs go")
    parser.add_argument("--kind", choices=tuple(_KINDS), default="files")
    parser.add_argument("--calls", type=int, default=0, help="sequences of calls per seed")
    arguments = parser.parse_args()
    inputs = Inputs(arguments.kind, arguments.folders)
    first = int(time.time()) if arguments.seed is None else arguments.seed
    if arguments.only is not None and arguments.calls:
        sys.stdout.write(run_calls(f"{first}/{arguments.only}") + "\n")
        return 0
    if arguments.only is not None:
        name, data = inputs.made(f"{first}/{arguments.only}")
        sys.stdout.write(f"{name}, {len(data)} bytes\n")
        sys.stdout.write(inputs.tried(f"{first}/{arguments.only}") + "\n")
        return 0
    total: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GLTF_BULLET_CACHE"] = cache
        warm_up()
        for seed in _seeds_in_time(first, arguments.hours):
            good, failed = (
                call_campaign(str(seed), arguments.calls)
                if arguments.calls
                else campaign(inputs, str(seed), arguments.count, arguments.keep)
            )
            total += good
            failures += failed
            count = total.total() + failures.total()
            sys.stdout.write(
                f"seed {seed}: {count} tried so far, {failures.total()} failed, "
                f"{time.monotonic() - begin:.0f} s\n"
            )
            sys.stdout.flush()
    for name, counter in (("outcomes", total), ("failures", failures)):
        sys.stdout.write(f"{name}:\n")
        for text, times in counter.most_common():
            sys.stdout.write(f"{times:8} {text}\n")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
