"""Which test of the source text asked a tensor for its truth."""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, final

from tl_core._source import Span, span_of

if TYPE_CHECKING:
    from types import CodeType

TestKind = Literal["if", "while", "assert", "ifexp", "comprehension", "guard", "boolop", "value", "unknown"]
"""What asked: a statement, an expression, `and`/`or` outside a test, some other use (`bool(t)`), or nothing known."""

_JUMP_NAMES_ITS_OPERAND = sys.version_info >= (3, 12)
"""Before Python 3.12, a conditional jump has the position of the statement or expression around it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A place in the source that asks for a truth value, seen from one operand of it."""

    kind: TestKind
    value: bool | None
    """Truth of the whole test; None where the operand alone does not decide it."""
    span: Span | None = None
    """The whole test."""
    text: str = ""
    """Its source text."""
    then: Span | None = None
    """What runs where the test is true."""
    otherwise: Span | None = None
    """What runs where it is false."""


UNKNOWN = Test(kind="unknown", value=None)


@lru_cache(maxsize=4096)
def find_test(code: CodeType, offset: int, value: bool) -> Test:
    """The test that an instruction belongs to.

    Args:
        code: the function that asked.
        offset: offset of the instruction that asked, in bytes.
        value: the answer.

    Returns:
        The test; of kind `unknown` where the source is missing, has changed or does not tell.
    """
    text = "".join(linecache.getlines(code.co_filename))
    syntax = _parse(text) if text else None
    operand = None if syntax is None else _operand(syntax, code, offset)
    return UNKNOWN if syntax is None or operand is None else _climb(syntax, operand, value)


@final
class _Syntax:
    """A parsed file: nodes by their span, and what each node is part of."""

    __slots__ = ("by_span", "lines", "parents")

    def __init__(self, tree: ast.AST, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.by_span: dict[Span, ast.AST] = {}
        for node in ast.walk(tree):  # outer nodes first, so that an inner one with the same span stays
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            span = span_of_node(node)
            if span is not None:
                self.by_span[span] = node

    def text(self, span: Span) -> str:
        """Source text of a span."""
        chosen = [line.encode() for line in self.lines[span.line - 1 : span.end_line]]
        chosen[-1] = chosen[-1][: span.end_column]
        chosen[0] = chosen[0][span.column :]
        return b"".join(chosen).decode()


@lru_cache(maxsize=128)
def _parse(text: str) -> _Syntax | None:
    try:
        return _Syntax(ast.parse(text), text)
    except SyntaxError:
        return None


def span_of_node(node: ast.AST) -> Span | None:
    """Source span of a syntax node; None for nodes without one."""
    if not isinstance(node, (ast.expr, ast.stmt, ast.keyword, ast.arg)):
        return None
    return Span(
        line=node.lineno,
        end_line=node.end_lineno or node.lineno,
        column=node.col_offset,
        end_column=node.end_col_offset or 0,
    )


def _operand(syntax: _Syntax, code: CodeType, offset: int) -> ast.AST | None:
    """The expression whose truth the instruction asked for."""
    span = span_of(code, offset)
    node = None if span is None else syntax.by_span.get(span)
    name = dis.opname[code.co_code[offset]]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and not name.startswith("POP_JUMP"):
        return node.operand
    if name.startswith("CALL"):
        return node
    if _JUMP_NAMES_ITS_OPERAND and not isinstance(node, ast.BoolOp):
        return node
    return _evaluated_before(syntax, code, offset, within=span if _JUMP_NAMES_ITS_OPERAND else None)


def _evaluated_before(syntax: _Syntax, code: CodeType, offset: int, within: Span | None) -> ast.AST | None:
    """The expression that was evaluated last before an instruction."""
    position = offset - 2
    while position >= 0:
        span = span_of(code, position)
        if span is not None and span != within:
            node = syntax.by_span.get(span)
            parent = None if node is None else syntax.parents.get(node)
            return parent if isinstance(parent, ast.NamedExpr) and node is parent.target else node
        position -= 2
    return None


def _climb(syntax: _Syntax, node: ast.AST, value: bool | None) -> Test:
    """Follow a truth value from an operand to the test that uses it."""
    in_chain = False
    while True:
        parent = syntax.parents.get(node)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            value = None if value is None else not value
        elif isinstance(parent, ast.BoolOp):
            in_chain = True
            value = _chained(parent, node, value)
        elif parent is None or not (isinstance(parent, ast.NamedExpr) or _is_bool_call(parent)):
            return _use(syntax, parent, node, value, in_chain=in_chain)
        node = parent


def _is_bool_call(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool"


def _chained(chain: ast.BoolOp, operand: ast.AST, value: bool | None) -> bool | None:
    """Truth of `a and b and ...` or `a or b or ...` once one operand is known; None if a later one decides."""
    if value is not None and value is isinstance(chain.op, ast.Or):
        return value
    return value if operand is chain.values[-1] else None


def _use(syntax: _Syntax, parent: ast.AST | None, test: ast.AST, value: bool | None, *, in_chain: bool) -> Test:
    kind: TestKind = "boolop" if in_chain else "value"
    then: Span | None = None
    otherwise: Span | None = None
    match parent:
        case ast.If() | ast.While() if test is parent.test:
            kind = "if" if isinstance(parent, ast.If) else "while"
            then, otherwise = _block(parent.body), _block(parent.orelse)
        case ast.IfExp() if test is parent.test:
            kind = "ifexp"
            then, otherwise = span_of_node(parent.body), span_of_node(parent.orelse)
        case ast.Assert() if test is parent.test:
            kind = "assert"
        case ast.comprehension() if test in parent.ifs:
            kind = "comprehension"
        case ast.match_case() if test is parent.guard:
            kind = "guard"
            then = _block(parent.body)
        case _:
            pass
    span = span_of_node(test)
    text = "" if span is None else syntax.text(span)
    return Test(kind=kind, value=value, span=span, text=text, then=then, otherwise=otherwise)


def _block(body: list[ast.stmt]) -> Span | None:
    spans = [span for span in map(span_of_node, body) if span is not None]
    if not spans:
        return None
    first, last = spans[0], spans[-1]
    return Span(line=first.line, end_line=last.end_line, column=first.column, end_column=last.end_column)
