"""``gltf_bullet.check``: everything wrong with a file and everything approximated, no engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from gltf_bullet.diagnostics import Diagnostics, Issue, Severity, with_names
from gltf_bullet.errors import AssetError
from gltf_bullet.gltf.document import AssetSource
from gltf_bullet.options import LoadOptions, require_options
from gltf_bullet.planning.contact_slips import note_contacts
from gltf_bullet.planning.motion_slips import note_motions
from gltf_bullet.runtime.content import read_content
from gltf_bullet.runtime.physics_slips import physics_slips
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.translation import translate_at


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """Result of :func:`check`: everything wrong with a file and everything approximated."""

    path: str
    issues: tuple[Issue, ...] = field(default=())

    @property
    def is_usable(self) -> bool:
        """True if the file loads, possibly without the parts that its errors name."""
        return not any(issue.refuses for issue in self.issues)

    @property
    def errors(self) -> tuple[Issue, ...]:
        """Issues that make the file unusable, or leave a part of it out."""
        return self._of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Issue, ...]:
        """Issues about lost or approximated meaning."""
        return self._of(Severity.WARNING)

    def _of(self, severity: Severity) -> tuple[Issue, ...]:
        return tuple(issue for issue in self.issues if issue.severity is severity)

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        # Imported here because the module imports PyBullet, which prints to the terminal.
        from gltf_bullet.runtime.views.notebook import issue_table

        usable = "usable" if self.is_usable else "not usable"
        return f"<p><b>{escape(self.path)}</b>: {usable}</p>{issue_table(self.issues)}"

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON-ready values."""
        return {
            "path": self.path,
            "usable": self.is_usable,
            "issues": [
                {
                    "code": issue.code,
                    "severity": issue.severity.name.lower(),
                    "pointer": str(issue.pointer),
                    "node": issue.node,
                    "message": issue.message,
                }
                for issue in self.issues
            ],
        }


def check(source: AssetSource, *, options: LoadOptions | None = None) -> Report:
    """Find everything wrong with a file and everything that Bullet will approximate.

    Runs without an engine and never raises on content. Concave moving meshes are decomposed, as
    they would be at load.
    """
    options = require_options(options)
    diagnostics = Diagnostics()
    try:
        content = read_content(source, diagnostics)
    except AssetError as error:
        return Report(path=error.path, issues=error.issues)
    issues = content.issues
    if not diagnostics.refuses:
        translation = translate_at(content, Placement.of(up_axis="y"), options)
        issues += translation.issues
        if not any(issue.refuses for issue in issues):
            issues += content.lacks + physics_slips(content)
            found = Diagnostics()
            simulated = translation.physics(content), content.tree, translation.plan
            note_contacts(*simulated, found)
            note_motions(*simulated, found)
            issues += found.issues
    issues = with_names(issues, content.tree.names)
    return Report(path=content.path, issues=issues)
