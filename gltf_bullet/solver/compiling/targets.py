"""The processors that machine code is made for."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["host_machine", "level_machine", "llvm", "processor"]


@cache
def llvm() -> Any:
    """LLVM's functions, imported for those who make machine code or load an object: 0.05 s."""
    from llvmlite import binding  # type: ignore[import-untyped]

    return binding


def processor() -> str:
    """A name of this processor and of the LLVM that makes code for it."""
    binding = llvm()
    return f"{binding.get_host_cpu_name()} {_features()} {binding.llvm_version_info}"


@cache
def host_machine() -> Any:
    """This processor, for code that this process loads."""
    return _target().create_target_machine(
        cpu=llvm().get_host_cpu_name(),
        features=_features(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def level_machine(level: str) -> Any:
    """Any processor of a level, ``x86-64-v3`` say, for code that is linked into a library."""
    return _target().create_target_machine(cpu=level, features="", opt=3, reloc="pic")


def _target() -> Any:
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple())


@cache
def _features() -> str:
    try:
        return str(llvm().get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know on every system
        return ""
