"""The reference pages, in Markdown beside this module, and the entries of the issue codes.

``gltf-bullet explain`` shows them. Needs nothing but the standard library: neither PyBullet nor
the module that declares a code is imported to explain it.
"""

from gltf_bullet.reference.issue_entries import (
    IssueEntry,
    issue_entries,
    page,
    page_names,
    page_title,
    parse_entries,
)

__all__ = [
    "IssueEntry",
    "issue_entries",
    "page",
    "page_names",
    "page_title",
    "parse_entries",
]
