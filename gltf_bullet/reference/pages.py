"""The Markdown files beside this module, by name."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["page", "page_names", "page_title"]

_FOLDER = files("gltf_bullet.reference")


def page_names() -> tuple[str, ...]:
    """The pages there are, without ``.md``, in alphabetical order."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in names if name.endswith(".md")))


def page(name: str) -> str:
    """The Markdown of a page.

    Raises:
        KeyError: There is no such page.
    """
    if name not in page_names():
        raise KeyError(name)
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def page_title(name: str) -> str:
    """The heading of a page.

    Raises:
        KeyError: There is no such page.
    """
    return page(name).partition("\n")[0].removeprefix("# ")
