"""Array types of the kernels."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["IntArray"]

IntArray: TypeAlias = npt.NDArray[np.int64]
