"""Animated node transforms, and the bodies and colliders that they move.

KHR_physics_rigid_bodies, "Motions": animations take priority over the simulation; "Colliders":
animated transforms reach static colliders as well. All arrays are stacked; a step samples every
channel in a few numpy calls and composes the animated part of the tree level by level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.runtime.animation.players import Animations, PlayerState
from gltf_bullet.runtime.animation.pointer_tracks import pointer_value
from gltf_bullet.scene import NodeFrames, NodeTree
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    IntArray,
    Parts,
    decompose_trs,
    matrices_from_trs,
)


class AnimatorState(Struct, frozen=True, eq=False, kw_only=True):
    """The state of animated nodes and properties."""

    local: FloatArray
    """parent_from_node of all nodes, as edited and animated, shape [node_count, 4, 4]."""
    stated: tuple[tuple[int, tuple[bytes, Parts]], ...] = ()
    """Parts that these local transforms were stated as, by node, with their bytes."""
    parts: FloatArray = msgspec_field(default_factory=lambda: np.zeros((0, 10)))
    """Translation, rotation xyzw and scale of the animated nodes, which ``local`` has not to the
    bit.
    """
    weights: tuple[tuple[int, FloatArray], ...] = ()
    pointer_values: tuple[tuple[str, FloatArray], ...] = ()
    """Values by pointer that the active animations have set last."""
    players: tuple[PlayerState, ...] = ()


class Animator:
    """Local transforms of all nodes, as set by the active animations."""

    def __init__(
        self,
        tree: NodeTree,
        animations: Animations,
        world_from_asset: FloatArray,
        acted: Sequence[int] = (),
    ) -> None:
        """Store the nodes, the frame of the roots, and the nodes that a behavior graph moves."""
        self._tree = tree
        self.animations = animations
        self._world_from_asset = world_from_asset
        self.translations = tree.translations.copy()
        self.rotations_xyzw = tree.rotations_xyzw.copy()
        self.scales = tree.scales.copy()
        self._parts: dict[int, tuple[bytes, Parts]] = {}
        """Parts that local transforms were stated as, by node, with the bytes of the transform."""
        self.local = tree.local_matrices()
        """Present parent_from_node, shape [node_count, 4, 4]; the rows of bodies are not used."""
        self.weights: dict[int, FloatArray] = {}
        """Morph weights by node, as set by the active animations."""
        self.animated = np.zeros(len(tree), dtype=bool)
        """Nodes that any animation of the file moves, active or not, or a behavior graph."""
        self.animated[list(acted)] = True
        self.acted_nodes = tuple(acted)
        """Nodes that a behavior graph moves."""
        self.acted: dict[int, bool] = {}
        """Nodes that the graph has moved since the last step; True for those that jumped."""
        for player in animations:
            self.animated[player.sampler.animated_nodes] = True
        scaled = np.zeros(len(tree), dtype=bool)
        for player in animations:
            scaled[player.sampler.scale_nodes] = True
        self.scaled = tree.nearest_at_or_above(scaled) >= 0
        """Nodes whose size any animation of the file changes, active or not."""
        self.moved = tree.nearest_at_or_above(self.animated) >= 0
        """Nodes at or below an animated one."""
        self._levels = [
            (depth, nodes[self.moved[nodes]])
            for depth, nodes in enumerate(tree.levels)
            if self.moved[nodes].any()
        ]
        self.jumped = np.zeros(len(tree), dtype=bool)
        """Nodes that the animations made jump in the last :meth:`move`."""
        self.driven = np.zeros(len(tree), dtype=bool)
        """Nodes whose own translation or rotation an active animation sets."""
        self._pointer_values: dict[str, FloatArray] = {}
        """Values by JSON pointer that the active animations gave in the last :meth:`advance`."""
        self.edits = 0
        """Number of changes of local transforms so far, those of animations not counted."""
        self._taken_back: AnimatorState | None = None
        """The state that was restored last, if only :meth:`place` could have changed it since."""
        self._step_rows = self._sample()

    def advance(self, time_step: float) -> list[tuple[str, object]]:
        """Advance the players by a time step [s]; :meth:`move` sets the nodes.

        Returns:
            Values by pointer at its end that the active animations have changed, and all values of
            those that begin or are sought (KHR_animation_pointer).
        """
        pointers: dict[str, FloatArray] = {}
        for player in self.animations:
            player.advance(time_step)
            if player.is_active or player.is_ending:
                values = player.sampler.sample_pointers(player.time)
                pointers.update(values)
                for pointer in values.keys() if player.has_begun else ():
                    self._pointer_values.pop(pointer, None)
        before, self._pointer_values = self._pointer_values, pointers
        return [
            (pointer, pointer_value(pointer, value))
            for pointer, value in pointers.items()
            if not np.array_equal(before.get(pointer, ()), value)
        ]

    def move(self) -> bool:
        """Set the nodes to the time of :meth:`advance`; return True if any animation jumped."""
        jumped = np.zeros(len(self._tree), dtype=bool)
        is_any = False
        for player in self.animations:
            if player.has_jumped:
                is_any = True
                jumped[player.jumped_nodes] = True
        stepped = self._sample()
        # STEP channels jump where their value changes; there is nothing between two keys. Other
        # channels of the same node move it meanwhile.
        for (node, path), row in stepped.items():
            before = self._step_rows.get((node, path))
            if before is not None and not np.array_equal(before, row):
                jumped[node] = True
        self._step_rows = stepped
        jumped[[node for node, has_jumped in self.acted.items() if has_jumped]] = True
        self.jumped = self._tree.nearest_at_or_above(jumped) >= 0 if jumped.any() else jumped
        return is_any

    def compose_ahead(self, world_now: FloatArray, simulated: BoolArray) -> FloatArray:
        """Return world_from_node after the coming step, shape [node_count, 4, 4].

        Args:
            world_now: Present matrices of all nodes, shape [node_count, 4, 4].
            simulated: True for nodes that the engine moves; they keep their matrices.
        """
        ahead = world_now.copy()
        for depth, nodes in self._levels:
            free = nodes[~simulated[nodes]]
            above = self._world_from_asset if depth == 0 else ahead[self._tree.parents[free]]
            ahead[free] = above @ self.local[free]
        return ahead

    def rests(self, nodes: IntArray) -> bool:
        """Return True if the coming step does not change some nodes and their weights.

        Call it between :meth:`advance` and :meth:`move`. The result depends only on what a
        :meth:`state` contains.
        """
        now = self.translations, self.rotations_xyzw, self.scales
        ahead = now[0].copy(), now[1].copy(), now[2].copy()
        looked_at = set(nodes.tolist())
        for player in self.animations:
            if player.is_active or player.is_ending:
                player.sampler.sample_into(player.time, *ahead)
                for node, weights in player.sampler.sample_weights(player.time).items():
                    before = self.weights.get(node, ())
                    if node in looked_at and not np.array_equal(weights, before):
                        return False
        return all(np.array_equal(a[nodes], b[nodes]) for a, b in zip(now, ahead, strict=True))

    def linear_maps(self, nodes: IntArray) -> FloatArray:
        """Return present scale and shear of some nodes by the animations, shape [k, 3, 3].

        For bodies, physics sets position and rotation, but animations set the size of their nodes.
        """
        _, asset_xyzw, _ = decompose_trs(self._world_from_asset)
        frames = NodeFrames(
            self._tree.compose(self.local, self._world_from_asset),
            self._tree.compose_rotations(self.rotations_xyzw, asset_xyzw),
        )
        return frames.linear_maps()[nodes]

    def place(self, node: int, parent_from_node: FloatArray, parts: Parts | None = None) -> None:
        """Set a node's local transform, shape [4, 4]; active animations may override it.

        ``parts``: translation, rotation xyzw and scale, if the transform was stated so.
        """
        self.edits, self._taken_back = self.edits + 1, None
        if parts is None:
            parts = decompose_trs(parent_from_node, self._tree.scales[node])
        self.translations[node], turn, self.scales[node] = parts
        self.rotations_xyzw[node] = turn / np.linalg.norm(turn)
        self.local[node] = parent_from_node
        self._parts[node] = self.local[node].tobytes(), parts

    def parts_of(self, node: int) -> Parts:
        """Return translation, rotation xyzw and scale of a node as they were stated, or animated.

        Without a matrix, whose parts differ in the last digits and in signs.
        """
        local = self.local[node].tobytes()
        known = self._parts.get(node)
        if known is None or known[0] != local:
            tree = self._tree
            own = tree.translations[node], tree.rotations_xyzw[node], tree.scales[node]
            now = self.translations[node], self.rotations_xyzw[node], self.scales[node]
            for parts in (own, now):
                if matrices_from_trs(*parts).tobytes() == local:
                    break
            else:
                parts = decompose_trs(self.local[node], tree.scales[node])
            known = self._parts[node] = local, parts
        translation, rotation, scale = known[1]
        return translation.copy(), rotation.copy(), scale.copy()

    def state(self) -> AnimatorState:
        """Return the state for :meth:`restore`, also of another animator of the same file."""
        nodes = self.animated
        parts = [self.translations[nodes], self.rotations_xyzw[nodes], self.scales[nodes]]
        return AnimatorState(
            local=self.local.copy(),
            stated=tuple(self._parts.items()),
            parts=np.concatenate(parts, axis=1),
            weights=tuple((node, weights.copy()) for node, weights in self.weights.items()),
            pointer_values=tuple(self._pointer_values.items()),
            players=tuple(player.state() for player in self.animations),
        )

    def restore(self, state: AnimatorState) -> None:
        """Restore a :meth:`state`, including nodes that no active animation sets."""
        if state is self._taken_back and not self.weights:
            return
        for player, player_state in zip(self.animations, state.players, strict=True):
            player.restore(player_state)
        self._pointer_values = dict(state.pointer_values)
        self._step_rows = self._sample()
        self.weights = {node: weights.copy() for node, weights in state.weights}
        self.local[:] = state.local
        self._parts = dict(state.stated)
        nodes = self.animated
        self.translations[nodes] = state.parts[:, :3]
        self.rotations_xyzw[nodes] = state.parts[:, 3:7]
        self.scales[nodes] = state.parts[:, 7:]
        self.edits += 1
        self._taken_back = None if self.animated.any() or len(self.animations) else state

    def _sample(self) -> dict[tuple[int, str], FloatArray]:
        """Write the active animations into the local transforms.

        Returns:
            Values of STEP channels by node and path.
        """
        stepped: dict[tuple[int, str], FloatArray] = {}
        self.driven[:] = False
        for player in self.animations:
            if not (player.is_active or player.is_ending):
                continue
            sampler = player.sampler
            sampler.sample_into(player.time, self.translations, self.rotations_xyzw, self.scales)
            self.driven[sampler.translation_nodes] |= player.is_active
            self.driven[sampler.rotation_nodes] |= player.is_active
            self.weights.update(sampler.sample_weights(player.time))
            for node in sampler.stepped_nodes("translation").tolist():
                stepped[node, "translation"] = self.translations[node].copy()
            for node in sampler.stepped_nodes("rotation").tolist():
                stepped[node, "rotation"] = self.rotations_xyzw[node].copy()
        nodes = np.flatnonzero(self.animated)
        if len(nodes):
            self.local[nodes] = matrices_from_trs(
                self.translations[nodes], self.rotations_xyzw[nodes], self.scales[nodes]
            )
        return stepped
