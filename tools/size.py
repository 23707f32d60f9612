"""How much code there is: `python tools/size.py` prints one row a package.

A line counts when it is neither blank nor part of a docstring.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The size of one file, class or function."""

    kind: str
    """`file`, `class` or `function`."""
    name: str
    """`path` or `path::Outer.inner`."""
    code: int
    """Lines that are neither blank nor part of a docstring."""
    raw: int
    """All lines."""


def measure_file(path: Path) -> list[Measure]:
    """Measure a file and each class and function in it, the file first."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    tree = ast.parse(text)
    counted = {number for number, line in enumerate(lines, 1) if line.strip()}
    counted -= docstring_lines(tree)
    name = path.relative_to(ROOT).as_posix()
    measures = [Measure(kind="file", name=name, code=len(counted), raw=len(lines))]
    for qualified, node in definitions(tree, ""):
        span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        code = sum(line in counted for line in span)
        measures.append(Measure(kind=kind, name=f"{name}::{qualified}", code=code, raw=len(span)))
    return measures


def definitions(
    node: ast.AST, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Yield every class and function below `node` with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFINITIONS):
            name = f"{prefix}{child.name}"
            yield name, child
            yield from definitions(child, f"{name}.")
        else:
            yield from definitions(child, prefix)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of all lines that belong to a string standing alone as a statement."""
    numbers: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                numbers.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return numbers


def sources(package: Path) -> list[Path]:
    """Return the Python files that a package ships."""
    return sorted((package / "src").rglob("*.py"))


def packages() -> list[Path]:
    """Return the folders of the workspace's packages."""
    return sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))


def table() -> str:
    """Return one row a package: code lines, files, and the largest file and function."""
    rows = [f"{'package':<22}{'code':>7}{'files':>7}{'largest file':>14}{'function':>10}"]
    total = 0
    for package in packages():
        measures = [measure for path in sources(package) for measure in measure_file(path)]
        files = [measure.code for measure in measures if measure.kind == "file"]
        functions = [measure.code for measure in measures if measure.kind == "function"]
        total += sum(files)
        rows.append(
            f"{package.name:<22}{sum(files):>7}{len(files):>7}"
            f"{max(files, default=0):>14}{max(functions, default=0):>10}"
        )
    rows.append(f"{'total':<22}{total:>7}")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
