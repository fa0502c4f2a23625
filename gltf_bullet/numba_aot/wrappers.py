"""Two functions around an entry: one for C, and one that Python calls without a detour.

Written as LLVM's text. Python's takes its arguments as they lie in memory (``METH_FASTCALL``) and
reads arrays by NumPy's binary interface (``PyArrayObject``): 0.1 us for what Numba's own
dispatcher takes 0.4 us for (measured).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DIMENSIONS = {"IntArray": 1, "FloatArray": 1, "IntTable": 2, "FloatTable": 2}
_DATA, _SHAPE = 16, 32
"""Offsets in a ``PyArrayObject``."""
DECLARATIONS = """
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
"""
"""The functions of Python that both call, declared once in a module."""
PYTHON_FUNCTIONS = tuple(re.findall(r"@(\w+)", DECLARATIONS))
"""Their names: all are of the stable interface."""


def c_name(entry: str) -> str:
    """Name of an entry's C function, which takes numbers only: of an array address and lengths."""
    return f"c.{entry}"


def python_name(entry: str) -> str:
    """Name of an entry's function for Python, whose ``self`` is the type of NumPy's arrays."""
    return f"python.{entry}"


def wrappers(entry: str, kinds: Sequence[str], mangled: str) -> str:
    """Both functions, in LLVM's words.

    Args:
        entry: Its name.
        kinds: Of its arguments, as annotated.
        mangled: What Numba calls it.
    """
    return _c_function(entry, kinds, mangled) + _python_function(entry, kinds)


def _c_function(entry: str, kinds: Sequence[str], mangled: str) -> str:
    """Calls Numba's function as Numba does: see ``numba_types``."""
    taken: list[str] = []
    passed, lines = ["ptr %result", "ptr %error"], []
    for k, kind in enumerate(kinds):
        if kind not in _DIMENSIONS:
            name = "double" if kind == "float" else "i64"
            taken.append(f"{name} %a{k}")
            passed.append(f"{name} %a{k}")
            continue
        lengths = [f"i64 %n{k}.{d}" for d in range(_DIMENSIONS[kind])]
        taken += [f"i64 %a{k}", *lengths]
        lines.append(f"%data{k} = inttoptr i64 %a{k} to ptr")
        passed += [f"ptr %data{k}", *lengths]
    declared = ", ".join(part.split()[0] for part in passed)
    body = "\n  ".join(lines)
    return f"""
declare i32 @"{mangled}"({declared})

define i64 @"{c_name(entry)}"({", ".join(taken)}) {{
  %result = alloca i64
  %error = alloca ptr
  {body}
  %code = call i32 @"{mangled}"({", ".join(passed)})
  %value = load i64, ptr %result
  ret i64 %value
}}
"""


def _python_function(entry: str, kinds: Sequence[str]) -> str:
    blocks: list[str] = []
    passed: list[str] = []
    for k, kind in enumerate(kinds):
        head = f"a{k}:\n  %p{k} = getelementptr ptr, ptr %arguments, i64 {k}\n"
        head += f"  %o{k} = load ptr, ptr %p{k}\n"
        if kind in _DIMENSIONS:
            body, more = _array(k, _DIMENSIONS[kind])
        elif kind == "float":
            body, more = _number(k, "double", "PyFloat_AsDouble", "fcmp oeq double %v{k}, -1.0")
        else:
            body, more = _number(k, "i64", "PyLong_AsLongLong", "icmp eq i64 %v{k}, -1")
        blocks.append(head + body)
        passed += more
    last = f"a{len(kinds)}"
    return f"""
define ptr @"{python_name(entry)}"(ptr %self, ptr %arguments, i64 %count) {{
  %fits = icmp eq i64 %count, {len(kinds)}
  br i1 %fits, label %a0, label %bad
{"".join(blocks)}{last}:
  %found = call i64 @"{c_name(entry)}"({", ".join(passed)})
  %object = call ptr @PyLong_FromLongLong(i64 %found)
  ret ptr %object
bad:
  %told = call i32 @PyErr_BadArgument()
  ret ptr null
failed:
  ret ptr null
}}
"""


def _number(k: int, kind: str, function: str, suspicious: str) -> tuple[str, list[str]]:
    """A number, read by a function of Python's that says -1 where it is none."""
    return (
        f"  %v{k} = call {kind} @{function}(ptr %o{k})\n"
        f"  %odd{k} = {suspicious.format(k=k)}\n"
        f"  br i1 %odd{k}, label %look{k}, label %a{k + 1}\n"
        f"look{k}:\n"
        f"  %e{k} = call ptr @PyErr_Occurred()\n"
        f"  %none{k} = icmp eq ptr %e{k}, null\n"
        f"  br i1 %none{k}, label %a{k + 1}, label %failed\n"
    ), [f"{kind} %v{k}"]


def _array(k: int, dimensions: int) -> tuple[str, list[str]]:
    """Address and lengths of an array of NumPy; the caller sees to its contents."""
    lines = [
        f"%tp{k} = getelementptr i8, ptr %o{k}, i64 8",
        f"%t{k} = load ptr, ptr %tp{k}",
        f"%is{k} = icmp eq ptr %t{k}, %self",
        f"br i1 %is{k}, label %array{k}, label %bad",
    ]
    more = [
        f"%dp{k} = getelementptr i8, ptr %o{k}, i64 {_DATA}",
        f"%d{k} = load i64, ptr %dp{k}",
        f"%sp{k} = getelementptr i8, ptr %o{k}, i64 {_SHAPE}",
        f"%s{k} = load ptr, ptr %sp{k}",
    ]
    passed = [f"i64 %d{k}"]
    for d in range(dimensions):
        more.append(f"%lp{k}.{d} = getelementptr i64, ptr %s{k}, i64 {d}")
        more.append(f"%l{k}.{d} = load i64, ptr %lp{k}.{d}")
        passed.append(f"i64 %l{k}.{d}")
    more.append(f"br label %a{k + 1}")
    text = "".join(f"  {line}\n" for line in lines) + f"array{k}:\n"
    return text + "".join(f"  {line}\n" for line in more), passed
