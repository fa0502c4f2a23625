"""Many bodies in one world by bare PyBullet calls."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pybullet

from gltf_bullet.transforms import Vec3

__all__ = ["BareWorld", "bare_world"]


def _link(name: str, mass: float, size: str, height: float = 0.0) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {height}"/><mass value="{mass}"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
        f'<collision><origin xyz="0 0 {height}"/><geometry><box size="{size}"/></geometry>'
        "</collision></link>"
    )


_URDF = {
    "box": f'<robot name="body">{_link("base", 1.0, "0.2 0.2 0.2")}</robot>',
    "cart-pole": '<robot name="cart_pole"><link name="world"/>'
    '<joint name="slide" type="prismatic"><parent link="world"/><child link="cart"/>'
    '<axis xyz="1 0 0"/><limit lower="-1000" upper="1000" effort="10" velocity="100"/></joint>'
    + _link("cart", 1.0, "0.5 0.2 0.3")
    + '<joint name="hinge" type="continuous"><parent link="cart"/><child link="pole"/>'
    '<axis xyz="0 1 0"/></joint>' + _link("pole", 0.1, "0.06 0.06 1", 0.5) + "</robot>",
}


@contextmanager
def bare_world(client_id: int, kind: str) -> Iterator[BareWorld]:
    """A world's copies of ``"box"`` or ``"cart-pole"``, whose file lives as long."""
    with tempfile.TemporaryDirectory(prefix="gltf_bullet_bench_") as folder:
        path = Path(folder) / f"{kind}.urdf"
        path.write_text(_URDF[kind])
        yield BareWorld(client_id, str(path), is_jointed=kind == "cart-pole")


class BareWorld:
    """Copies of one body: read once and pushed once in every step, as one does by hand."""

    def __init__(self, client_id: int, path: str, *, is_jointed: bool) -> None:
        """``path`` is a URDF file of a box or, with joints, of a cart-pole."""
        self._client_id, self._path, self._is_jointed = client_id, path, is_jointed
        self._bodies: list[int] = []

    def load(self, places: Sequence[Vec3]) -> None:
        """One body at each place [m]."""
        client = self._client_id
        for place in places:
            body = pybullet.loadURDF(
                self._path, place, useFixedBase=self._is_jointed, physicsClientId=client
            )
            self._bodies.append(body)
            # As the file has it: PyBullet's own bodies are damped.
            pybullet.changeDynamics(
                body, -1, linearDamping=0.0, angularDamping=0.0, physicsClientId=client
            )
            if self._is_jointed:
                pybullet.setJointMotorControlArray(
                    body, [0, 1], pybullet.VELOCITY_CONTROL, forces=[0, 0], physicsClientId=client
                )

    def steps(self, count: int) -> None:
        """Read all, push all, step; ``count`` times."""
        client = self._client_id
        for _ in range(count):
            for body in self._bodies:
                if not self._is_jointed:
                    pybullet.getBasePositionAndOrientation(body, client)
                    pybullet.applyExternalForce(
                        body, -1, [0, 0, 0.1], [0, 0, 0], pybullet.LINK_FRAME, client
                    )
                    continue
                pybullet.getJointStates(body, [0, 1], client)
                pybullet.setJointMotorControlArray(
                    body, [0, 1], pybullet.TORQUE_CONTROL, forces=[0.1, 0.0],
                    physicsClientId=client,
                )  # fmt: skip
            pybullet.stepSimulation(client)

    def remove(self) -> None:
        """All bodies, one after the other."""
        for body in self._bodies:
            pybullet.removeBody(body, physicsClientId=self._client_id)
