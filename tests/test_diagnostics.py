"""What findings look like when they are printed."""

from __future__ import annotations

import pickle

from gltf_bullet.bounds import ISSUES_PER_CODE
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue, IssueKind, Severity, with_names

REDUCED = IssueKind("REDUCED", Severity.WARNING, "{count} points are too many by {share:.0%}")


def test_an_issue_prints_its_message_with_the_values_filled_in() -> None:
    issue = Issue(REDUCED, ROOT / "meshes" / 0, {"count": 300, "share": 0.2})
    line = "warning: /meshes/0: 300 points are too many by 20% [REDUCED]"
    assert str(issue) == line
    # As lists and tuples print their items.
    assert repr((issue,)) == f"(<Issue {line}>,)"
    assert "{" not in repr(issue)


def test_the_whole_document_has_a_place_too() -> None:
    issue = Issue(REDUCED, ROOT, {"count": 1, "share": 1.0})
    assert str(issue).startswith("warning: /: ")


def test_a_kind_prints_its_code() -> None:
    assert str(REDUCED) == "REDUCED"
    expected = "<IssueKind REDUCED, warning: {count} points are too many by {share:.0%}>"
    assert repr(REDUCED) == expected


def test_issues_stay_equal_and_hashable_and_pickle() -> None:
    issue = Issue(REDUCED, ROOT, {"count": 1, "share": 1.0})
    assert pickle.loads(pickle.dumps(issue)) == issue  # noqa: S301  # our own bytes
    assert len({issue, Issue(REDUCED, ROOT, {"count": 1, "share": 1.0})}) == 1


def test_a_code_has_a_bound_and_the_others_are_counted_once_each() -> None:
    diagnostics = Diagnostics()
    kind = IssueKind("SOME", Severity.ERROR, "{got}")
    for number in [*range(ISSUES_PER_CODE + 7), 0, ISSUES_PER_CODE]:
        diagnostics.report(kind, ROOT / number, got=number)
    *kept, more = diagnostics.issues
    assert [issue.pointer for issue in kept] == [f"/{k}" for k in range(ISSUES_PER_CODE)]
    assert more.code == "MORE_ISSUES"
    assert more.message == f"and 7 more of SOME; the first {ISSUES_PER_CODE} are listed"
    assert not diagnostics.has_room(kind)


def test_findings_of_another_sink_keep_the_names_of_their_nodes() -> None:
    found, whole = Diagnostics(), Diagnostics()
    found.report(REDUCED, ROOT / "nodes" / 0, count=1, share=1.0)
    whole.extend(with_names(found.issues, ["Crate"]))
    assert whole.issues[0].node == "Crate"
