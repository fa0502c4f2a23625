"""Checks of names in a config, so that unknown ones are reported when an environment is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from gltf_bullet.envs.config import EnvConfig
from gltf_bullet.envs.sight import SightTerm, graph_of
from gltf_bullet.envs.terms import Terminal
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.runtime.scene import Scene


def require_names(scene: Scene, config: EnvConfig) -> None:
    """Look up the names in ready terms and in the randomisation.

    Observations and actions look up their names when they are made; functions of the user cannot
    be inspected.

    Raises:
        KeyError: The asset lacks a name; the message lists similar ones.
        IndexError: A joint has fewer degrees of freedom.
        ValueError: A term of several numbers stands where one is wanted.
    """
    look_up: dict[str, Callable[[Any], object]] = {
        "node": scene.node,
        "target": scene.node,
        "frame": scene.node,
        "body": scene.bodies.__getitem__,
        "joint": scene.joints.__getitem__,
        "trigger": scene.triggers.__getitem__,
        "variable": lambda key: graph_of(scene).variables[key],
        "event": lambda event: graph_of(scene).require_event(event),
    }
    success = () if config.success is None else (config.success,)
    for kind, terms in (
        ("rewards", config.rewards),
        ("terminations", config.terminations),
        ("observed", config.observed),
        ("success", success),
    ):
        inner = [term.when for term in terms if isinstance(term, Terminal) and term.when]
        for number, term in enumerate([*terms, *inner]):
            if not type(term).__module__.startswith("gltf_bullet.") or not is_dataclass(term):
                continue
            where = f"{kind}[{number}] {type(term).__name__}"
            for entry in fields(term):
                name = getattr(term, entry.name)
                if entry.name in look_up and name is not None:
                    _look_up(look_up[entry.name], name, f"{where}.{entry.name}")
            for joint in getattr(term, "joints", None) or ():
                _look_up(scene.joints.__getitem__, joint, f"{where}.joints")
            if kind != "observed" and isinstance(term, SightTerm) and term.components(1) != ("",):
                _require_one(term, where)
            if hasattr(term, "dof"):
                count = len(scene.joints[term.joint].degrees_of_freedom)
                if not -count <= term.dof < count:
                    raise IndexError(f"{where}.dof is {term.dof}; the joint has {count}")
    for pointer in config.randomization:
        _look_up(scene.get, pointer, "randomization")


def _require_one(term: SightTerm, where: str) -> None:
    """Refuse a term of several numbers where one is wanted."""
    if getattr(term, "axis", None) is None:
        hint = "; choose one by its axis" if hasattr(term, "axis") else ""
        raise ValueError(f"{where} is a vector, which can be observed only{hint}")


def _look_up(get: Callable[[Any], object], name: Any, where: str) -> None:
    try:
        get(name)
    except KeyError as error:
        raise UnknownNameError(f"{where}: {error.args[0]}") from None
