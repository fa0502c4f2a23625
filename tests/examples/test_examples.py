"""Every example runs without a display and passes its own check."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pybullet
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_examples() -> None:
    assert [path.name[:2] for path in EXAMPLES][:9] == [f"{k:02}" for k in range(9)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_passes_its_check(path: Path) -> None:
    module = load(path)
    result = module.main(headless=True)
    try:
        module.check(result)
    finally:
        first = result[0] if isinstance(result, list) else result
        pybullet.disconnect(first.client_id)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_explains_itself(path: Path) -> None:
    text = path.read_text()
    assert text.startswith('"""')
    assert len(text.splitlines()) <= 70
