"""Issues about what PyBullet does not return of a world, or glTF cannot express."""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import error, warning

BODIES_UNLISTED: Final = error(
    "BODIES_UNLISTED",
    "the world holds {count} bodies that PyBullet does not list, as those of a batch; they are "
    "left out; call pybullet.syncBodyInfo() before",
)
COLLIDER_UNREADABLE: Final = error(
    "COLLIDER_UNREADABLE", "PyBullet does not tell what {what} of {link} looks like; it is left out"
)
VISUAL_UNREADABLE: Final = warning(
    "VISUAL_UNREADABLE", "the mesh {got} of {link} cannot be read ({why}); {done}"
)
TEXTURE_UNREADABLE: Final = warning(
    "TEXTURE_UNREADABLE", "{link} shows a texture that PyBullet does not give back; it is left out"
)
MOTOR_UNREADABLE: Final = warning(
    "MOTOR_UNREADABLE",
    "the motor of joint {joint} acted with {force:.3g} {unit} last; PyBullet does not tell its "
    "target and gains, nor whether it is off since; it is left out",
)
CONSTRAINT_NOT_IN_GLTF: Final = warning(
    "CONSTRAINT_NOT_IN_GLTF", "constraint {got} is {what}; it is left out"
)
RECORDED_BODY_GONE: Final = warning(
    "RECORDED_BODY_GONE",
    "body {body} ({name}) was removed at {time:.4g} s; it stays where it was last, and what "
    "has its id now is not recorded",
)
RECORDED_WITHOUT_BODY: Final = warning(
    "RECORDED_WITHOUT_BODY",
    "body {body} ({name}) was made by {time:.4g} s, after the recording had begun; it is left out",
)
SAVED_BODY_UNCERTAIN: Final = warning(
    "SAVED_BODY_UNCERTAIN",
    "{count} bodies of the world that PyBullet saves may be body {body} ({name}); its collision "
    "bits, meshes, and the limits and damping of its joints {done}",
)
SOFT_BODY_NOT_IN_GLTF: Final = error(
    "SOFT_BODY_NOT_IN_GLTF",
    "body {body} is soft or deformable; glTF physics knows rigid bodies only; it is left out",
)
MAXIMAL_BODY_UNREADABLE: Final = warning(
    "MAXIMAL_BODY_UNREADABLE",
    "{link} is in maximal coordinates; PyBullet does not tell where its origin is; its node stands "
    "in the centre of mass, and what is drawn of it is placed as if that were the origin",
)
LINKS_UNREADABLE: Final = error(
    "LINKS_UNREADABLE",
    "the world holds {count} parts of robots that were loaded in maximal coordinates; PyBullet "
    "has no number for them; they are left out",
)
