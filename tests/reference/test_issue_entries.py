"""Every issue code has an entry that says why, how big and what to do."""

from __future__ import annotations

import pytest

from gltf_bullet.reference import issue_entries, parse_entries
from tools.list_issues import declared_codes

ENTRIES = issue_entries()


def test_every_code_has_an_entry_and_every_entry_a_code() -> None:
    assert set(ENTRIES) == declared_codes(), "run python -m tools.list_issues"


@pytest.mark.parametrize("code", ENTRIES)
def test_an_entry_is_written(code: str) -> None:
    entry = ENTRIES[code]
    assert entry.message
    assert entry.room
    written = [entry.why, entry.what_to_do]
    if entry.severity == "warning":  # an error loads nothing, a note loses nothing
        written.append(entry.how_big)
    for text in written:
        # "Nothing." and "None." are answers, too.
        assert text.endswith((".", ".)")), text
        assert "(to be written)" not in text


def test_an_entry_is_read_as_it_is_written() -> None:
    (entry,) = parse_entries(
        "# Issue codes\n\n### A_CODE\n\n*warning, found in gltf*\n\n"
        "> {a} &lt; {b} \\* 2\n\n- **Why:** Because\n  of it.\n- **What to do:** Nothing.\n\n"
        "## Notes\n"
    ).values()
    assert (entry.code, entry.severity, entry.room) == ("A_CODE", "warning", "gltf")
    assert entry.message == "{a} < {b} * 2"
    assert (entry.why, entry.how_big, entry.what_to_do) == ("Because of it.", "", "Nothing.")
