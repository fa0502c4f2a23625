"""Findings about properties of a model that glTF lacks or approximates, each with its size."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from gltf_bullet.convert.issues import MJCF_APPROXIMATED, NOT_IN_GLTF
from gltf_bullet.convert.mjcf.actuators import ActuatorDrives
from gltf_bullet.convert.mjcf.equalities import Equalities
from gltf_bullet.convert.mjcf.filters import Contacts
from gltf_bullet.convert.mjcf.geoms import SHOWN_GROUPS, Geoms
from gltf_bullet.convert.mjcf.joints import CREEP
from gltf_bullet.convert.mjcf.model import GeomType, JointType, MjcfModel
from gltf_bullet.convert.mjcf.rotors import turning_armature
from gltf_bullet.convert.mjcf.tendons import does_more, has_spring
from gltf_bullet.diagnostics import ROOT, Diagnostics

_LEFT_OUT: Final = "it is left out"
_IN_EXTRAS: Final = "it is kept in extras"
_MUSCLE: Final = 4
_MOST_NAMES: Final = 3
_TWISTING: Final = 4
"""Lowest ``condim`` whose contacts resist twisting; from 6 on they resist rolling."""


def report_losses(
    model: MjcfModel,
    geoms: Geoms,
    contacts: Contacts,
    actuators: ActuatorDrives,
    equalities: Equalities,
    diagnostics: Diagnostics,
) -> None:
    """Report all losses, once for each kind."""
    report = _Report(model, diagnostics)
    _of_joints(report)
    _of_actuators(report, actuators)
    _of_equalities(report, equalities)
    _of_geoms(report, geoms, contacts)
    _of_bodies(report)
    _of_whole(report, actuators.tendons | equalities.tendons, actuators.springs)


class _Report:
    """Reports findings in one wording."""

    def __init__(self, model: MjcfModel, diagnostics: Diagnostics) -> None:
        self.model = model
        self._diagnostics = diagnostics

    def lost(self, what: str, names: Sequence[str], done: str = _LEFT_OUT) -> None:
        if names:
            counted = f"{len(names)} x {what}" if len(names) > 1 else what
            self._diagnostics.report(
                NOT_IN_GLTF, ROOT, what=counted, owner=_listed(names), done=done
            )

    def changed(self, what: str, names: Sequence[str], done: str, error: str) -> None:
        if names:
            self._diagnostics.report(
                MJCF_APPROXIMATED, ROOT,
                count=len(names), what=what, names=_listed(names), done=done, error=error,
            )  # fmt: skip

    def names(self, kind: str, where: npt.ArrayLike) -> list[str]:
        return [self.model.name_of(kind, int(k)) for k in np.flatnonzero(where)]


def _listed(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _span(values: npt.ArrayLike, unit: str = "") -> str:
    """Least and largest of numbers."""
    found = np.asarray(values, dtype=np.float64)
    low, high = float(found.min()), float(found.max())
    shown = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    return f"{shown} {unit}".rstrip()


def _of_joints(report: _Report) -> None:
    model = report.model
    first = model["jnt_dofadr"]
    is_free = model["jnt_type"] == JointType.FREE
    armature, turning = model["dof_armature"][first], turning_armature(model)
    if (turning > 0.0).any():
        share = (turning / np.maximum(model["dof_M0"][first], 1e-300)).max()
        report.changed(
            f"armature of {_span(turning[turning > 0.0])} kg m2, up to {100.0 * share:.3g} % of an "
            "axis's inertia,",
            report.names("jnt", turning > 0.0),
            "inertia of the link about its axis",
            "nothing on a base that stands, up to twice an axis's inertia on links that turn",
        )
    report.lost(
        f"armature of {_span(armature[armature > turning])} kg, along a slide,"
        if (armature > turning).any() else "armature",
        report.names("jnt", armature > turning), _IN_EXTRAS,
    )  # fmt: skip
    friction = model["dof_frictionloss"][first]
    report.changed(
        "friction loss", report.names("jnt", (friction > 0.0) & ~is_free),
        "a damper that is bounded by it", f"a creep of {CREEP:g} rad/s or m/s under it",
    )  # fmt: skip
    for name, values in (
        ("damping", model["dof_damping"][first]),
        ("stiffness", model["jnt_stiffness"]),
        ("friction loss", friction),
    ):
        report.lost(f"{name} of a free joint", report.names("jnt", is_free & (values > 0.0)))
    for name, key, rows in (
        ("damping", "dof_dampingpoly", first),
        ("stiffness", "jnt_stiffnesspoly", slice(None)),
    ):
        if key in model.arrays:
            higher = model[key][rows].any(axis=1)
            report.lost(f"{name} of higher order", report.names("jnt", higher))
    springs = model["qpos_spring"]
    turned = [
        bool(model["jnt_type"][j] == JointType.BALL and model["jnt_stiffness"][j] > 0.0
             and springs[model["jnt_qposadr"][j]] < 1.0 - 1e-9)
        for j in range(model.count("jnt"))
    ]  # fmt: skip
    report.lost("spring of a ball about another pose than its own", report.names("jnt", turned))
    limited = model["jnt_limited"].astype(bool)
    soft = limited & (model["jnt_solref"] != (0.02, 1.0)).any(axis=1)
    report.lost(
        "solref of a limit, which is hard here,", report.names("jnt", soft), "the limit is exact"
    )


def _of_actuators(report: _Report, actuators: ActuatorDrives) -> None:
    model = report.model
    for why, names in actuators.lost.items():
        muscles = [
            name
            for name in report.names("actuator", model["actuator_dyntype"] == _MUSCLE)
            if name in names
        ]
        kind = "muscle" if len(muscles) == len(names) else "actuator"
        report.lost(f"{kind} with {why}", names)
    report.changed(
        "actuator with a filter", actuators.filtered, "a drive without delay",
        f"{_filter_times(model)} s of delay",
    )  # fmt: skip
    report.changed(
        "servo or spring of a tendon over joints that are not coupled", list(actuators.uncoupled),
        "a drive of each joint, exact where they move alike",
        f"up to {max(actuators.uncoupled.values(), default=0.0):.3g} N m/rad (N/m) against motions "
        "that leave the tendon's length",
    )  # fmt: skip
    report.changed(
        "actuator force range", list(dict.fromkeys(actuators.lopsided)),
        "the larger bound to both sides", "the smaller one",
    )  # fmt: skip
    for name, key in (("armature", "actuator_armature"), ("damping", "actuator_damping")):
        if key in model.arrays:
            values = model[key]
            report.lost(f"{name} of an actuator", report.names("actuator", values > 0.0))


def _filter_times(model: MjcfModel) -> str:
    is_filter = np.isin(model["actuator_dyntype"], (2, 3))
    times = model["actuator_dynprm"][is_filter, 0]
    return _span(times) if len(times) else "0"


def _of_equalities(report: _Report, equalities: Equalities) -> None:
    for why, names in equalities.lost.items():
        report.lost(why, names)
    for name, bend in equalities.curved.items():
        report.changed(
            "polynomial of an equality", [name], "its straight part", f"{bend:.3g} rad or m"
        )


def _of_geoms(report: _Report, geoms: Geoms, contacts: Contacts) -> None:
    model = report.model
    solid = contacts.colliding
    if not len(solid):
        return
    dims, friction = model["geom_condim"], model["geom_friction"]
    twisting = solid & (dims >= _TWISTING)
    if twisting.any():
        report.lost(
            f"torsional friction {_span(friction[twisting, 1])} and rolling friction "
            f"{_span(friction[twisting, 2])} m",
            report.names("geom", twisting),
        )
    both = solid & (dims == 1)
    if both.any() and (solid & (dims > 1)).any():
        report.changed(
            "geom without friction beside others with it", report.names("geom", both),
            "no friction of its own", "the larger of the pair's two, where it is its own",
        )  # fmt: skip
    priority = model["geom_priority"]
    if solid.any() and len(set(priority[solid].tolist())) > 1:
        report.changed(
            "priority of a geom", report.names("geom", solid & (priority != 0)),
            "the larger friction of a pair", "up to the difference of the two",
        )  # fmt: skip
    margin = solid & ((model["geom_margin"] > 0.0) | (model["geom_gap"] > 0.0))
    if margin.any():
        report.lost(
            f"contact margin {_span(model['geom_margin'][margin])} m", report.names("geom", margin)
        )
    soft = solid & (model["geom_solref"] != (0.02, 1.0)).any(axis=1)
    report.lost("solref of contacts, which are hard here,", report.names("geom", soft))
    pairs = len(model["pair_geom1"])
    if pairs:
        first = [model.name_of("geom", int(g)) for g in model["pair_geom1"]]
        report.lost("<pair> with a surface of its own", first, "its geoms meet with their own")
    fluid = model["geom_fluid"].any(axis=1)
    report.lost("fluid shape", report.names("geom", fluid))
    flat = [geoms.has_flat_color_for_texture(g) for g in range(model.count("geom"))]
    report.lost(
        "texture on a geom without texture coordinates", report.names("geom", flat),
        "its mean colour is taken",
    )  # fmt: skip
    distance = solid & (model["geom_type"] == GeomType.SDF)
    report.changed(
        "signed distance field", report.names("geom", distance), "its mesh", "its facets"
    )


def _of_bodies(report: _Report) -> None:
    model = report.model
    standing = np.array([model.is_static(b) for b in range(model.count("body"))])
    standing[0] = False
    heavy = standing & (model["body_mass"] > 0.0)
    if heavy.any():
        total = float(model["body_mass"][heavy].sum())
        report.lost(f"mass, {total:.4g} kg in all, that nothing moves", report.names("body", heavy))


def _of_whole(report: _Report, said: Collection[int], springs: Collection[int]) -> None:
    model = report.model
    told = [
        (t in springs or (t in said and not has_spring(model, t))) and not does_more(model, t)
        for t in range(model.count("tendon"))
    ]
    report.lost("tendon", report.names("tendon", ~np.array(told, dtype=bool)))
    report.lost("sensor", report.names("sensor", np.ones(model.count("sensor"))))
    report.lost("skin", report.names("skin", np.ones(model.count("skin"))))
    report.lost("flexible body", report.names("flex", np.ones(model.count("flex"))))
    report.lost("light", report.names("light", np.ones(model.count("light"))))
    for name in ("density", "viscosity"):
        value = float(model.option(name))
        if value > 0.0:
            report.lost(f"{name} {value:.3g} of the medium", ["<option>"])
    if any(model.option("wind")):
        report.lost("wind", ["<option>"])
    _of_groups(report)


def _of_groups(report: _Report) -> None:
    model = report.model
    hidden = model["geom_group"] >= SHOWN_GROUPS
    report.lost(
        f"geom of a group from {SHOWN_GROUPS} on", report.names("geom", hidden),
        "it is not drawn, as in MuJoCo's viewers",
    )  # fmt: skip
