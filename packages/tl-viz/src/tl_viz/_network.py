"""What a picture is drawn from: a traced network as plain columns, free of any framework and of the trace itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

OpRole = Literal["op", "input", "output", "buffer", "constant", "hook", "stop"]
"""What an op is: computed, a place where tensors enter and leave, an edit, or where the run ended too early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a module."""

    address: str
    """Path of the module, such as `layer1.0.conv1`."""
    number: int
    """Which call of this module it is, from 1."""
    class_name: str
    """Class of the module."""
    parent: int
    """Index of the calling module's call, or -1."""
    link: str = ""
    """Address of the source of the class's forward."""
    within: tuple[str, ...] = ()
    """Functions of the code that it ran in, like those of an op."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network as columns; entry i of each column belongs to op i, in the order of execution."""

    name: str
    """Class of the traced model."""
    base: str = ""
    """Address of the module that all of it ran in; names are given relative to it."""
    labels: Sequence[str]
    """Unique label of each op."""
    functions: Sequence[str]
    """Name of the function that ran."""
    parents: Sequence[tuple[int, ...]]
    """Ops whose outputs it read, in the order of its arguments; all before the op itself."""
    module_of: Sequence[int]
    """Index into `calls` of the innermost module call, or -1."""
    calls: Sequence[Call]
    """Module calls, parents before children."""
    roles: Sequence[OpRole]
    """What each op is."""
    shapes: Sequence[tuple[int, ...] | None]
    """Shape of each output; None where it has none."""
    params: Sequence[int]
    """Number of parameter elements that each op reads for the first time in the run."""
    learned: Sequence[bool]
    """Whether each op reads parameters at all."""
    rounds: Sequence[int]
    """How many passes each op stands for; 1 everywhere in an unrolled picture."""
    rows: Sequence[tuple[str, ...]] = ()
    """Further lines of text for each op, already formatted; empty for none."""
    unread: int = 0
    """Number of parameter elements of the model that no op reads."""
    links: Sequence[str] = ()
    """Address of the source line of each op; empty for none."""
    tips: Sequence[str] = ()
    """Further text on hover for each op; empty for none."""
    tints: dict[int, float] = field(default_factory=dict[int, float])
    """Op -> the value that colours it."""
    sizes: dict[int, float] = field(default_factory=dict[int, float])
    """Op -> the value that sets its size."""
    marked: frozenset[int] = frozenset()
    """Ops that are outlined: those that the user wants highlighted, and edited ones."""
    edited: frozenset[int] = frozenset()
    """Ops whose value an intervention replaced."""
    back: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """Op -> ops of the previous round that it reads; only in a rolled picture."""
    pinned: frozenset[int] = frozenset()
    """Ops that must stay visible."""
    islands: frozenset[int] = frozenset()
    """Ops that neither an input nor an output is connected to, where they are drawn."""
    unseen: dict[str, int] = field(default_factory=dict[str, int])
    """What was left out before planning, in words for the note under the picture -> how many ops."""

    places: dict[int, str] = field(default_factory=dict[int, str])
    """Op -> where it lives: `input_ids` for an input, `output.logits` for an output, the address of a buffer."""
    weights: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    """Op -> addresses of the parameters that it reads."""
    extents: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Address of a parameter -> its shape."""
    slots: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    """Op -> op that it reads -> which argument that is, where the order matters."""
    made_by: Sequence[int] = ()
    """Number of the function call that made each op; 0 for what no call made. Outputs of one call share it."""
    turns: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    """Op -> op that it reads -> which rounds of a loop give or read that tensor; only in a rolled picture."""
    joins: dict[int, int] = field(default_factory=dict[int, int])
    """Op -> in how many of its passes it reads two or more tensors that the run computed, or that were given to it."""
    apart: frozenset[int] = frozenset()
    """Those of `joins` that bring branches together: the tensors have passed different parameters, or come from different inputs,
    or are the factors of a gate."""
    purposes: dict[int, str] = field(default_factory=dict[int, str])
    """Those of `apart` of which it can be seen what they are for -> what: `by silu`."""
    outputs: dict[int, str] = field(default_factory=dict[int, str])
    """Op -> which output of its call it is, for calls with several: `values`, `output 1 of 3`."""
    indices: dict[int, str] = field(default_factory=dict[int, str])
    """Op that takes a part -> which: `[:, -1]`, where that is plain."""
    details: dict[int, str] = field(default_factory=dict[int, str])
    """Op -> what its arguments say about its size: `2 layers, 64 hidden`."""
    within: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    """Op -> functions of the code that it ran in, seen from its module, the outermost first, each with the line that called it
    (`rotate_half:228`); last the line of the op itself."""
    title: str = ""
    """What stands over the picture where it is more than the class: the name that was given to the trace."""
    ending: str = ""
    """Where and why the run ended, for the note under the picture; empty where it reached its end."""
    owners: Sequence[str] = ()
    """Label of the op of the trace behind each op, where `labels` holds those of layers; empty where they are the same."""

    def __len__(self) -> int:
        """Return the number of ops."""
        return len(self.labels)

    @property
    def total_ops(self) -> int:
        """How many ops were run, all passes counted."""
        return sum(self.rounds)
