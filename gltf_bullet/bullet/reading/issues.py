"""Issues about what PyBullet does not return of a world, or glTF cannot express."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import IssueKind, Severity

BODIES_UNLISTED: Final = IssueKind(
    "BODIES_UNLISTED",
    Severity.ERROR,
    "the world holds {count} bodies that PyBullet does not list, as those of a batch; they are "
    "left out; call pybullet.syncBodyInfo() before",
)
COLLIDER_UNREADABLE: Final = IssueKind(
    "COLLIDER_UNREADABLE",
    Severity.ERROR,
    "PyBullet does not tell what {what} of {link} looks like; it is left out",
)
VISUAL_UNREADABLE: Final = IssueKind(
    "VISUAL_UNREADABLE",
    Severity.WARNING,
    "the mesh {got} of {link} cannot be read ({why}); {done}",
)
TEXTURE_UNREADABLE: Final = IssueKind(
    "TEXTURE_UNREADABLE",
    Severity.WARNING,
    "{link} shows a texture that PyBullet does not give back; it is left out",
)
MOTOR_UNREADABLE: Final = IssueKind(
    "MOTOR_UNREADABLE",
    Severity.WARNING,
    "the motor of joint {joint} acted with {force:.3g} {unit} last; PyBullet does not tell its "
    "target and gains, nor whether it is off since; it is left out",
)
CONSTRAINT_NOT_IN_GLTF: Final = IssueKind(
    "CONSTRAINT_NOT_IN_GLTF",
    Severity.WARNING,
    "constraint {got} is {what}; it is left out",
)
RECORDED_BODY_GONE: Final = IssueKind(
    "RECORDED_BODY_GONE",
    Severity.WARNING,
    "body {body} ({name}) was removed at {time:.4g} s; it stays where it was last, and what "
    "has its id now is not recorded",
)
RECORDED_WITHOUT_BODY: Final = IssueKind(
    "RECORDED_WITHOUT_BODY",
    Severity.WARNING,
    "body {body} ({name}) was made by {time:.4g} s, after the recording had begun; it is left out",
)
SAVED_BODY_UNCERTAIN: Final = IssueKind(
    "SAVED_BODY_UNCERTAIN",
    Severity.WARNING,
    "{count} bodies of the world that PyBullet saves may be body {body} ({name}); its collision "
    "bits, meshes, and the limits and damping of its joints {done}",
)
SOFT_BODY_NOT_IN_GLTF: Final = IssueKind(
    "SOFT_BODY_NOT_IN_GLTF",
    Severity.ERROR,
    "body {body} is soft or deformable; glTF physics knows rigid bodies only; it is left out",
)
MAXIMAL_BODY_UNREADABLE: Final = IssueKind(
    "MAXIMAL_BODY_UNREADABLE",
    Severity.WARNING,
    "{link} is in maximal coordinates; PyBullet does not tell where its origin is; its node stands "
    "in the centre of mass, and what is drawn of it is placed as if that were the origin",
)
LINKS_UNREADABLE: Final = IssueKind(
    "LINKS_UNREADABLE",
    Severity.ERROR,
    "the world holds {count} parts of robots that were loaded in maximal coordinates; PyBullet "
    "has no number for them; they are left out",
)
