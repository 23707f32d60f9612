"""Questions about paths: `trace.graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

from tl_core._errors import ConfigurationError, LookupFailedError
from tl_core._lookup import look_up
from tl_core._op import Op
from tl_core._signature import fitting
from tl_core._view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_core._edge import Edges
    from tl_core._state import State

OpKey = str | int | Op
"""An op, or what names one: a label with its pass, a label of a layer with one pass, or a position."""
Paths = Literal["all", "shortest"]


@final
class Graph(View):
    """The ops of a trace as a directed graph; an edge leads from an op to each op that was computed from it."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self._state.edges.parent_targets)

    @fitting("trace.graph.parents")
    def parents(self, op: OpKey) -> tuple[Op, ...]:
        """The ops that `op` was computed from, in argument order."""
        return self._views(self._edges.parents(self._index(op)))

    @fitting("trace.graph.children")
    def children(self, op: OpKey) -> tuple[Op, ...]:
        """The ops that were computed from `op`, in execution order."""
        return self._views(self._edges.children(self._index(op)))

    @fitting("trace.graph.ancestors")
    def ancestors(self, op: OpKey) -> tuple[Op, ...]:
        """All ops that `op` depends on, in execution order."""
        return self._views(self._edges.upstream(self._index(op)))

    @fitting("trace.graph.descendants")
    def descendants(self, op: OpKey) -> tuple[Op, ...]:
        """All ops that depend on `op`, in execution order."""
        return self._views(self._edges.downstream(self._index(op)))

    @fitting("trace.graph.between")
    def between(self, start: OpKey, end: OpKey, paths: Paths = "all") -> tuple[Op, ...]:
        """The ops on the way from one op to another, both included.

        Args:
            start: where the paths begin.
            end: where they end.
            paths: `all` for every op on any path, `shortest` for the ops of one path with the fewest edges.

        Returns:
            The ops in execution order; empty if no path leads from `start` to `end`.

        Raises:
            LookupFailedError: `start` or `end` names no single op.
            ConfigurationError: `paths` is another word.

        Example:
            >>> import torch
            >>> import tl_torch as tl
            >>> class Net(torch.nn.Module):
            ...     def forward(self, x):
            ...         return x.sin().cos() + x
            >>> graph = tl.trace(Net(), torch.ones(2)).graph
            >>> [op.label for op in graph.between("input_1", "add_1_3")]
            ['input_1:1', 'sin_1_1:1', 'cos_1_2:1', 'add_1_3:1']
            >>> [op.label for op in graph.between("input_1", "add_1_3", paths="shortest")]
            ['input_1:1', 'add_1_3:1']
        """
        first, last = self._index(start), self._index(end)
        if paths == "all":
            return self._views(_between(self._edges, first, last))
        if paths == "shortest":
            return self._views(_shortest(self._edges, first, last))
        raise ConfigurationError(
            f"paths={paths!r} is not known.",
            code="paths_unknown",
            remedy="paths='all' or paths='shortest'",
            asked=paths,
        )

    @fitting("trace.graph.cone")
    def cone(self, op: OpKey) -> tuple[Op, ...]:
        """Everything that `op` is connected to by a directed path: its ancestors, itself and its descendants."""
        index = self._index(op)
        edges = self._edges
        return self._views([*edges.upstream(index), index, *edges.downstream(index)])

    @property
    def _edges(self) -> Edges:
        return self._state.edges

    def _views(self, indices: Iterable[int]) -> tuple[Op, ...]:
        return tuple([self._state.op(index) for index in indices])

    def _index(self, key: OpKey) -> int:
        found = self._own(key) if isinstance(key, Op) else look_up(self._state, key)
        if isinstance(found, Op):
            return found.index
        ops = found.ops
        if len(ops) == 1:
            return ops[0].index
        raise LookupFailedError(
            f"{key!r} stands for {len(ops)} ops, and a path needs one.",
            code="op_lookup_not_found",
            remedy=f"name one of them: {', '.join(op.label for op in ops[:3])}{', ...' if len(ops) > 3 else ''}"
            if ops
            else "name an op",
            asked=key,
        )

    def _own(self, op: Op) -> Op:
        """Refuse an op that another trace recorded: it stands for nothing here, whatever its number."""
        if op._state is self._state:  # noqa: SLF001  # another view of the same package
            return op
        raise LookupFailedError(
            f"{op.label!r} is an op of another trace than this one ({self._state.info.name!r}).",
            code="op_of_another_trace",
            remedy=f"name it by its label, if both have it: trace.graph.parents({op.label!r})",
            asked=op.label,
        )

    def __repr__(self) -> str:
        return f"<Graph: {self._edges.count} nodes, {self.num_edges} edges>"


def _between(edges: Edges, first: int, last: int) -> list[int]:
    """Walk up from `last`; an op that ran before `first` cannot lie behind it."""
    below: set[int] = {last}
    stack = [last]
    while stack:
        for parent in edges.parents(stack.pop()):
            if parent >= first and parent not in below:
                below.add(parent)
                stack.append(parent)
    if first not in below:
        return []
    reached = {first}
    for op in sorted(below):
        if op > first and any(parent in reached for parent in edges.parents(op)):
            reached.add(op)
    return sorted(reached)


def _shortest(edges: Edges, first: int, last: int) -> list[int]:
    origin: dict[int, int] = {last: last}
    layer = [last]
    while layer and first not in origin:
        following: list[int] = []
        for op in sorted(layer):
            for parent in edges.parents(op):
                if parent >= first and parent not in origin:
                    origin[parent] = op
                    following.append(parent)
        layer = following
    if first not in origin:
        return []
    path = [first]
    while path[-1] != last:
        path.append(origin[path[-1]])
    return path
