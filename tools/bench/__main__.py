"""``python -m tools.bench``: speed against PyBullet itself, with the goals beside the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.rows import BenchRow, Measurement

__all__ = ["app", "bench"]


class _Row(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def measure(self) -> Callable[[int], Any]: ...


_Chosen = TypeVar("_Chosen", bound=_Row)


def bench(
    rows: Annotated[
        list[str] | None,
        typer.Argument(
            help="Rows to run, by name; all without any. 'train' alone: environment steps per "
            "second (needs the extra gym). 'contact' alone: contacts against bare PyBullet and "
            "formulas. 'solve' alone: joints against a loop by hand. 'drops' alone: limbs "
            "thrown on a floor; --repeats times ten of each. 'start' alone: compiling, and the "
            "first step of a new process. 'worlds' alone: 300 scenes in one world. 'robots' "
            "alone: first loads, further copies and steps of robots of pybullet_data. 'steps' "
            "alone: a step of every example and shared asset against the bare engine's."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Pairs of measurements per row.")] = 5,
    list_rows: Annotated[bool, typer.Option("--list", help="Only list the rows.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure loading, stepping and memory as ratios to bare PyBullet; medians, A and B by turns.

    Example: python -m tools.bench load-boxes step-resting --repeats 5
    """
    if rows == ["train"]:
        _bench_train(repeats, as_json)
        return
    if rows == ["contact"]:
        _bench_contact(as_json)
        return
    if rows == ["solve"]:
        _bench_solve(repeats, as_json)
        return
    if rows == ["drops"]:
        _bench_drops(10 * repeats, as_json)
        return
    if rows == ["steps"]:
        _bench_steps(repeats, as_json)
        return
    if rows == ["start"]:
        _bench_start(repeats, as_json)
        return
    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.rows import ROWS

    table = ROWS
    if rows in (["worlds"], ["robots"]):
        from tools.bench.robots import ROBOT_ROWS
        from tools.bench.worlds import WORLD_ROWS

        table, rows = (WORLD_ROWS if rows == ["worlds"] else ROBOT_ROWS), None
    known = {row.name: row for row in table}
    unknown = [name for name in rows or () if name not in known]
    if unknown:
        raise typer.BadParameter(f"no row {unknown[0]!r}; rows: {', '.join(known)}")
    chosen = [known[name] for name in rows] if rows else list(table)
    out = console()
    if list_rows:
        print_table(
            out, "Rows", ("Row", "What", "Goal>"), ((r.name, r.what, r.goal) for r in table)
        )
        return
    results = _run(chosen, repeats)
    if as_json:
        print_json([_json_row(row, found) for row, found in results])
        return
    print_table(
        out,
        "Medians; smaller is better",
        ("Row", "What", "Ours>", "PyBullet>", "Unit", "Value>", "Goal>", ""),
        (_cells(row, found) for row, found in results),
    )


def _bench_steps(repeats: int, as_json: bool) -> None:
    from dataclasses import asdict

    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.assets import ASSETS
    from tools.bench.step_tax import step_taxes, summary

    _need_examples(ASSETS)
    for after in (0.125, 4.0):
        taxes = step_taxes(repeats, after)
        found = summary(taxes)
        dearest = sorted(taxes, key=lambda tax: tax.ours / tax.bare, reverse=True)
        if as_json:
            print_json([{"after_s": after, **found}, *map(asdict, dearest)])
            continue
        print_table(
            console(),
            f"Steps from {after} s on: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items()),
            (
                "File",
                "Bodies>",
                "Joints>",
                "Triggers>",
                "Driven>",
                "Fast>",
                "Ours [us]>",
                "Bare [us]>",
                "Ratio>",
            ),
            (
                (
                    t.name,
                    t.bodies,
                    t.joints,
                    t.triggers,
                    t.driven,
                    t.fast,
                    f"{t.ours:.1f}",
                    f"{t.bare:.1f}",
                    f"{t.ours / t.bare:.1f}",
                )
                for t in dearest[:15]
            ),
        )


def _bench_contact(as_json: bool) -> None:
    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.contact import CONTACT_ROWS, RATES

    found = [
        (row, rate, row.measure(rate, False), row.measure(rate, True))
        for row in CONTACT_ROWS
        for rate in RATES
    ]
    if as_json:
        print_json(
            [
                {
                    "row": row.name,
                    "what": row.what,
                    "rate": rate,
                    "ours": ours,
                    "pybullet": bare,
                    "formula": row.formula,
                }
                for row, rate, ours, bare in found
            ]
        )
        return
    print_table(
        console(),
        "Contacts; nearer to the formula is better",
        ("Row", "What", "Rate [1/s]>", "Ours>", "PyBullet>", "Formula>"),
        (
            (row.name, row.what, rate, f"{ours:.3g}", f"{bare:.3g}", f"{row.formula:.3g}")
            for row, rate, ours, bare in found
        ),
    )


def _bench_train(repeats: int, as_json: bool) -> None:
    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.assets import ASSETS

    try:
        from tools.bench.shared_tasks import shared_rows
        from tools.bench.train import TRAIN_ROWS
    except ImportError as error:
        typer.echo(f"error: {error}; pip install 'gltf_bullet[gym]'", err=True)
        raise typer.Exit(1) from error
    _need_examples(ASSETS)
    results = _run((*TRAIN_ROWS, *shared_rows()), repeats)
    if as_json:
        print_json(
            [
                {
                    "row": row.name,
                    "step_us": found.ours,
                    "plain_step_us": found.theirs,
                    "ratio": found.ratio,
                    "reset_us": found.our_reset,
                    "plain_reset_us": found.their_reset,
                    "reset_ratio": found.reset_ratio,
                }
                for row, found in results
            ]
        )
        return
    print_table(
        console(),
        "Environments; ours / written by hand with PyBullet, smaller is better",
        ("Row", "What", "Step [us]>", "By hand>", "Ratio>", "Reset [us]>", "By hand>", "Ratio>"),
        (
            (
                row.name,
                row.what,
                f"{found.ours:.1f}",
                f"{found.theirs:.1f}",
                f"{found.ratio:.2f}",
                *(
                    (
                        f"{found.our_reset:.0f}",
                        f"{found.their_reset:.0f}",
                        f"{found.reset_ratio:.1f}",
                    )
                    if found.their_reset
                    else ("", "", "")
                ),
            )
            for row, found in results
        ),
    )


def _bench_solve(repeats: int, as_json: bool) -> None:
    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.assets import ASSETS
    from tools.bench.solve import SOLVE_ROWS

    _need_examples(ASSETS)
    results = _run(SOLVE_ROWS, repeats)
    if as_json:
        print_json(
            [
                {
                    "row": row.name,
                    "ours_us": found.ours,
                    "by_hand_us": found.theirs,
                    "ratio": found.ratio,
                    "goal": row.goal,
                    "reached": found.ratio >= row.goal,
                }
                for row, found in results
            ]
        )
        return
    print_table(
        console(),
        "A step; by hand / ours, larger is better",
        ("Row", "What", "Ours [us]>", "By hand [us]>", "Ratio>", "Goal>", ""),
        (
            (
                row.name,
                row.what,
                f"{found.ours:.1f}",
                f"{found.theirs:.1f}",
                f"{found.ratio:.3f}",
                f">= {row.goal:g}",
                "" if found.ratio >= row.goal else "MISSED",
            )
            for row, found in results
        ),
    )


def _bench_drops(count: int, as_json: bool) -> None:
    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.assets import ASSETS
    from tools.bench.drops import DROP_RATES, DROP_ROWS, MOST_GAIN, MOST_SPEED

    _need_examples(ASSETS)
    found = [
        (row, rate, row.measure(rate, range(count))) for row in DROP_ROWS for rate in DROP_RATES
    ]
    if as_json:
        print_json(
            [
                {
                    "row": row.name,
                    "rate": rate,
                    "drops": drops.count,
                    "exploded": drops.exploded,
                    "gained_energy": drops.gained,
                    "too_fast": drops.sped,
                    "most_energy": drops.worst,
                }
                for row, rate, drops in found
            ]
        )
        return
    print_table(
        console(),
        f"Drops; energy may be {1.0 + MOST_GAIN:g} of the start, speed {MOST_SPEED:g} of the fall",
        ("Row", "Rate [1/s]>", "Drops>", "Exploded>", "Energy>", "Speed>", "Most energy>"),
        (
            (row.name, rate, d.count, d.exploded, d.gained, d.sped, f"{d.worst:.3f}")
            for row, rate, d in found
        ),
    )


def _bench_start(repeats: int, as_json: bool) -> None:
    from gltf_bullet.cli.output import console, print_json, print_table
    from tools.bench.start import START_ROWS

    results = _run(START_ROWS, repeats)
    if as_json:
        print_json(
            [{"row": row.name, "seconds": found, "goal": row.goal} for row, found in results]
        )
        return
    print_table(
        console(),
        "Before the first step; smaller is better",
        ("Row", "What", "Value [s]>", "Goal [s]>"),
        (
            (row.name, row.what, f"{found:.2f}", "" if row.goal is None else f"<= {row.goal:g}")
            for row, found in results
        ),
    )


def _need_examples(folder: Path) -> None:
    """The rows about joints run the examples of a checkout."""
    if not folder.is_dir():
        typer.echo(f"error: no examples in {folder}; run this in a checkout", err=True)
        raise typer.Exit(1)


def _run(chosen: Sequence[_Chosen], repeats: int) -> list[tuple[_Chosen, Any]]:
    from rich.progress import Progress

    from gltf_bullet.cli.output import console

    results = []
    err = console(err=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("", total=len(chosen))
        for row in chosen:
            progress.update(task, description=row.name)
            results.append((row, row.measure(repeats)))
            progress.advance(task)
    return results


def _cells(row: BenchRow, found: Measurement) -> tuple[Any, ...]:
    return (
        row.name,
        row.what,
        f"{found.ours:.3g}",
        f"{found.theirs:.3g}",
        found.unit,
        f"{found.value:.3f}",
        f"<= {row.goal:g}",
        "" if found.value <= row.goal else "MISSED",
    )


def _json_row(row: BenchRow, found: Measurement) -> dict[str, Any]:
    return {
        "row": row.name,
        "what": row.what,
        "ours": found.ours,
        "pybullet": found.theirs,
        "unit": found.unit,
        "value": found.value,
        "goal": row.goal,
        "reached": found.value <= row.goal,
    }


app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(bench)

if __name__ == "__main__":
    app()
