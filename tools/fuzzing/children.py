"""Inputs in forked children with limits: one that crashes or hangs is named, the rest go on."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tools.fuzzing.trial import Failure

__all__ = ["outcomes"]

BATCH: Final = 100
"""Inputs of one child: forking and ending it costs 50 ms."""
MEMORY_BYTES: Final = 3 * 2**30
_RECORD: Final = struct.Struct("<IBI")
"""Number of the input, what it is (0 begins, 1 done, 2 failed), bytes of text that follow."""
BEGINS, DONE, FAILED = range(3)


def outcomes(
    numbers: Sequence[int], trial: Callable[[int], str], seconds: float
) -> Iterator[tuple[int, bool, str]]:
    """(number, is good, what happened) of each input, in order.

    Args:
        numbers: Of the inputs.
        trial: Tries one input; what became of it.
        seconds: Time for one input, after which it counts as hanging.
    """
    left = list(numbers)
    while left:
        batch, done = left[:BATCH], 0
        for outcome in _one_child(batch, trial, seconds):
            done += 1
            yield outcome
        left = left[done:]


def _one_child(
    batch: Sequence[int], trial: Callable[[int], str], seconds: float
) -> Iterator[tuple[int, bool, str]]:
    """The outcomes of a batch up to its end, or up to and with the input that ended the child."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work(batch, trial, writer)
    os.close(writer)
    current: int | None = None
    status = 0
    try:
        for number, kind, text in _records(reader, child, seconds):
            if kind == BEGINS:
                current = number
            else:
                current = None
                yield number, kind == DONE, text
        hangs = False
    except TimeoutError:
        hangs = True
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if current is not None:
        ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "an exit"
        yield current, False, f"no end within {seconds:g} s" if hangs else f"ended by {ended}"


def _work(batch: Sequence[int], trial: Callable[[int], str], writer: int) -> None:
    """In the child: never returns."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()  # the parent says it in one line
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        for number in batch:
            os.write(writer, _RECORD.pack(number, BEGINS, 0))
            try:
                text, kind = trial(number), DONE
            except Failure as failure:
                text, kind = str(failure), FAILED
            except Exception as error:  # of the trial itself: somewhere it must be guarded
                place = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{type(error).__name__} in {place.name}:{place.lineno} {error}"[:200]
                kind = FAILED
            data = text.encode(errors="replace")[:2000]
            os.write(writer, _RECORD.pack(number, kind, len(data)) + data)
    finally:
        os._exit(0)


def _records(reader: int, child: int, seconds: float) -> Iterator[tuple[int, int, str]]:
    """What the child writes.

    Raises:
        TimeoutError: It has worked, or waited ten times as long, and has written nothing.
    """
    pending = b""
    last, used = time.monotonic(), _processor_seconds(child)
    while True:
        if not select.select([reader], [], [], 1.0)[0]:
            # On a busy machine time alone says nothing.
            waited = time.monotonic() - last
            if _processor_seconds(child) - used > seconds or waited > 10.0 * seconds:
                raise TimeoutError
            continue
        data = os.read(reader, 65536)
        if not data:
            return
        last, used = time.monotonic(), _processor_seconds(child)
        pending += data
        while len(pending) >= _RECORD.size:
            number, kind, size = _RECORD.unpack_from(pending)
            end = _RECORD.size + size
            if len(pending) < end:
                break
            text, pending = pending[_RECORD.size : end], pending[end:]
            yield number, kind, text.decode()


def _processor_seconds(process: int) -> float:
    """Processor time of a child so far, with that of the children it has waited for [s]."""
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
