"""Campaigns of the fuzzer in a process of their own, with few libraries and one thread.

Their forks have limits of memory, beyond which the libraries of other tests would be, and a fork of
a process with threads may wait for a lock that one of them held.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_CODE = """
import json, sys
from tools.fuzz import Inputs, call_campaign, campaign, warm_up

kind, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
warm_up()
if kind == "calls":
    good, failed = call_campaign(seed, count)
else:
    good, failed = campaign(Inputs(kind, []), seed, count)
print(json.dumps([good, failed]))
"""


def run_apart(kind: str, seed: str, count: int) -> tuple[dict[str, int], dict[str, int]]:
    """How many inputs, or sequences of ``calls``, came out how, and the failures."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, kind, seed, str(count)],
        capture_output=True,
        text=True,
        check=False,
        cwd=_ROOT,
        timeout=900.0,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    good, failed = json.loads(done.stdout.splitlines()[-1])
    return good, failed
