"""The command ``gltf-bullet``: one module per command; heavy imports happen inside of them.

Exit codes: 0 success, 1 errors in the content, 2 wrong usage or an error of the environment: a file
that is missing or cannot be written, an extra that is not installed, no display, an engine that
fails.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gltf_bullet.cli.bake import bake
from gltf_bullet.cli.check import check
from gltf_bullet.cli.convert import convert
from gltf_bullet.cli.explain import explain
from gltf_bullet.cli.inspect import inspect
from gltf_bullet.cli.simulate import simulate
from gltf_bullet.cli.view import view
from gltf_bullet.errors import AssetError, GltfBulletError, TranslationError

__all__ = ["app", "main"]

app = typer.Typer(
    name="gltf-bullet",
    help="Load glTF assets with rigid-body physics into PyBullet, look at them and run them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (inspect, check, explain, simulate, view, bake, convert):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        from gltf_bullet.cli.versions import versions

        for line in versions():
            typer.echo(line)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say what runs."),
    ] = False,
) -> None:
    """Load glTF assets with rigid-body physics into PyBullet, look at them and run them."""


def main() -> None:
    """Run the command line; ends the process with the exit code."""
    from gltf_bullet.cli.output import say, say_error, take_every_text

    take_every_text()
    try:
        app()
    except AssetError as error:
        for issue in error.issues:
            say(f"{issue.severity.name.lower()}: {issue.located(error.path)}", err=True)
        sys.exit(2 if any(issue.code == "FILE_UNREADABLE" for issue in error.issues) else 1)
    except TranslationError as error:
        say_error(error)
        sys.exit(1)
    except (GltfBulletError, OSError) as error:
        say_error(error)
        sys.exit(2)
    except ImportError as error:
        if error.name not in ("llvmlite", "numba"):
            raise
        say_error(error)  # the extra that it names is missing
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
