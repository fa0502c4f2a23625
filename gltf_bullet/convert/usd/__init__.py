"""OpenUSD stages with UsdPhysics as descriptions of worlds, and assets as stages.

Everything that opens a file of others runs in a child process; see :mod:`.process`.
"""

from typing import Final

USD_SUFFIXES: Final = (".usd", ".usda", ".usdc", ".usdz")
