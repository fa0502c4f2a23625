"""Text of a file as text in a page, whatever is in it.

viser shows Markdown with raw HTML in it, scripts included (``Markdown.tsx`` of its client). So all
that comes from a file enters a page by :func:`plain_markdown`; buttons, sliders, lists and labels
take text alone.
"""

from __future__ import annotations

import re

from gltf_bullet.printable import printable

__all__ = ["plain_markdown"]

_OTHERS = re.compile(r"[^\w ]|_")
"""Whatever is neither a letter nor a digit may mean something to Markdown or HTML somewhere."""


def plain_markdown(text: str) -> str:
    """Markdown that shows ``text``, in one line: all but letters and digits by their numbers."""
    return _OTHERS.sub(lambda found: f"&#{ord(found[0])};", printable(text))
