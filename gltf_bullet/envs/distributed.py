"""Episodes on the processes of a Ray cluster; needs the extra ``ray``."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, TypeAlias

from gltf_bullet.envs.config import EnvConfig
from gltf_bullet.envs.gltf_env import GltfEnv
from gltf_bullet.envs.rollouts import Policy, Rollout, roll_out
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.runtime.asset import read_asset

Job: TypeAlias = "tuple[Policy, int]"
"""A policy, and the seed of its episode."""

IN_FLIGHT = 2
"""Jobs that a worker has at a time: it continues while its first answer is on its way."""

MOST_LOSSES = 3
"""Number of lost workers from which on a job counts as their cause."""


class WorkerLostError(GltfBulletError):
    """An episode ended several processes that played it."""


class RolloutPool:
    """Workers with an environment each, which play episodes; a context manager.

    Results are those of :func:`~gltf_bullet.envs.roll_out` in this process: an episode depends on
    its policy and its seed alone. The worker that replaces a lost one repeats its jobs.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | bytes,
        config: EnvConfig | None = None,
        *,
        workers: int = 2,
        address: str | None = None,
    ) -> None:
        """Start the workers; they get the file and its external files through the object store.

        Args:
            path: A ``.gltf`` or ``.glb`` file here, or the bytes of a self-contained one.
            config: The config of a single environment.
            workers: Number of processes, one CPU each.
            address: Address of a running cluster, whose machines have gltf_bullet installed.
                ``None``: the one that ``RAY_ADDRESS`` names, or a new one on this machine, which
                :meth:`close` ends. If this process has joined Ray already, that one is used.

        Raises:
            ImportError: Ray is not installed.
            ConnectionError: There is no cluster at that address.
            AssetError: The file cannot be used.
            KeyError: The asset lacks something that the config names.
            ValueError: ``workers`` < 1, or the range of a drive is unknown.
        """
        if workers < 1:
            raise ValueError(f"workers is {workers}; must be >= 1")
        self._ray = _import_ray()
        data = read_asset(path).to_glb()
        config = config or EnvConfig()
        env = GltfEnv(data, config)  # raises here what every worker would raise
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self._is_ours = _join(self._ray, address, workers)
        self._asset = self._ray.put(data)
        self._config = self._ray.put(config)
        self._actor = self._ray.remote(num_cpus=1)(_Worker)
        self._workers: list[Any] = []
        self._starting: dict[Any, Any] = {}
        """Workers that have not answered yet, by their future answer; a cluster that has lost a
        machine may have no room for one, and the others do its work."""
        self._failed_starts = 0
        for _ in range(workers):
            self._start()
        self.losses = 0
        """Number of workers that were lost and replaced."""

    @property
    def ready(self) -> int:
        """Number of workers that are up; the others still start (the first compiles the solve)."""
        return len(self._workers)

    def run(
        self,
        jobs: Iterable[Job],
        *,
        keep_course: bool = False,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> list[Rollout]:
        """Play an episode per job; results are in the order of the jobs.

        Args:
            jobs: Policies and seeds; a policy object that occurs often is sent once.
            keep_course: See :func:`~gltf_bullet.envs.roll_out`.
            on_progress: Called with the number of finished episodes and of all.

        Raises:
            WorkerLostError: A job has lost its worker three times, or no worker starts.
            Exception: Any exception of a policy or of a function of the config.
        """
        wanted = list(jobs)
        found: dict[int, Rollout] = {}
        waiting = deque(range(len(wanted)))
        lost = [0] * len(wanted)
        running: dict[Any, tuple[int, Any]] = {}
        policies = {id(policy): policy for policy, _ in wanted}
        sent = {key: self._ray.put(policy) for key, policy in policies.items()}
        while waiting or running:
            self._hand_out(wanted, waiting, running, sent, keep_course)
            for ref in self._ray.wait([*running, *self._starting], num_returns=1)[0]:
                if ref in self._starting:
                    self._welcome(ref)
                    continue
                number, worker = running.pop(ref)
                try:
                    found[number] = self._ray.get(ref)
                except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                    lost[number] += 1
                    if lost[number] >= MOST_LOSSES:
                        raise WorkerLostError(
                            f"the episode with seed {wanted[number][1]} has ended its process "
                            f"{MOST_LOSSES} times"
                        ) from None
                    self._replace(worker)
                    waiting.appendleft(number)
                    continue
                if on_progress is not None:
                    on_progress(len(found), len(wanted))
        return [found[number] for number in range(len(wanted))]

    def evaluate(self, policy: Policy, seeds: Sequence[int], **more: Any) -> list[Rollout]:
        """Play one episode per seed; keywords as for :meth:`run`."""
        return self.run([(policy, seed) for seed in seeds], **more)

    def close(self) -> None:
        """End the workers, and the Ray of this machine if the pool has started it."""
        for worker in (*self._workers, *self._starting.values()):
            self._ray.kill(worker)
        self._workers, self._starting = [], {}
        if self._is_ours:
            self._ray.shutdown()
            self._is_ours = False

    def _start(self) -> None:
        worker = self._actor.remote(self._asset, self._config)
        self._starting[worker.answer.remote()] = worker

    def _welcome(self, ref: Any) -> None:
        worker = self._starting.pop(ref)
        try:
            self._ray.get(ref)
        except self._ray.exceptions.RayActorError as error:
            self._failed_starts += 1
            if self._failed_starts >= MOST_LOSSES:
                raise WorkerLostError(f"no worker starts: {error}") from error
            self._start()
            return
        self._failed_starts = 0
        self._workers.append(worker)

    def _replace(self, worker: Any) -> None:
        """Start another worker; all jobs of the lost one report the loss, and one report counts."""
        if worker in self._workers:
            self.losses += 1
            self._workers.remove(worker)
            self._start()

    def _hand_out(
        self,
        jobs: Sequence[Job],
        waiting: deque[int],
        running: dict[Any, tuple[int, Any]],
        sent: dict[int, Any],
        keep_course: bool,
    ) -> None:
        for _ in range(IN_FLIGHT):
            for worker in self._workers:
                busy = sum(other is worker for _, other in running.values())
                if waiting and busy < IN_FLIGHT:
                    number = waiting.popleft()
                    policy, seed = jobs[number]
                    ref = worker.play.remote(sent[id(policy)], seed, keep_course)
                    running[ref] = (number, worker)

    def __enter__(self) -> RolloutPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Worker:
    """An environment in a process of its own."""

    def __init__(self, asset: bytes, config: EnvConfig) -> None:
        self._env = GltfEnv(asset, config)

    def answer(self) -> None:
        """Return once the worker runs."""

    def play(self, policy: Policy, seed: int, keep_course: bool) -> Rollout:
        return roll_out(self._env, policy, seed, keep_course=keep_course)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("RolloutPool needs Ray: pip install 'gltf_bullet[ray]'") from error
    return ray


def _join(ray: Any, address: str | None, workers: int) -> bool:
    """Connect to Ray; returns True if it was started here."""
    if ray.is_initialized():
        return False
    starts = address is None and not os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {"address": address}
    if starts:
        cpus = max(workers, os.cpu_count() or 1)
        options = {"num_cpus": cpus, "include_dashboard": False}
    ray.init(logging_level=logging.WARNING, log_to_driver=False, **options)
    return True
