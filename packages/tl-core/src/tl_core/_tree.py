"""The modules of a traced model as a tree in the order of their first calls, with what each of them costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, final

from tl_core._cost import plain_dtype, tensor_bytes
from tl_core._record import ModuleRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tl_core._backend import OpCost
    from tl_core._record import ModuleCallRecord, OpRecord, Records

TIMES = "\N{MULTIPLICATION SIGN}"

NEVER = 1 << 62
"""Order of modules that were not called: after all others."""


@final
@dataclass(slots=True, kw_only=True)
class Work:
    """Work and memory of a part of the run, added up."""

    flops: int = 0
    macs: int = 0
    duration_ns: int = 0
    activation_bytes: int = 0
    ops: int = 0
    uncounted: int = 0
    """Function calls without a formula; they are in `duration_ns`, `ops` and `activation_bytes` only."""

    def add(self, other: Work) -> None:
        """Add another part to this one."""
        self.flops += other.flops
        self.macs += other.macs
        self.duration_ns += other.duration_ns
        self.activation_bytes += other.activation_bytes
        self.ops += other.ops
        self.uncounted += other.uncounted


@final
@dataclass(slots=True, kw_only=True)
class ModuleNode:
    """One module at one place of the tree."""

    name: str
    """Last part of the address; the class name for the model itself."""
    record: ModuleRecord
    calls: int
    output: str
    """Shape of what a call returned, as `shape_text` gives it; `varies` when the calls differ."""
    dtype: str
    params: int
    """Scalars in the parameters that are counted here, those of the children included."""
    tied: int
    """Scalars in parameters that are used here too and counted at another module."""
    trainable: int
    work: Work
    own: dict[str, Work] = field(default_factory=dict)
    """Work done by the module's own code, by function."""
    children: list[ModuleNode] = field(default_factory=list)
    order: int = NEVER
    """Index of the first module call in the subtree."""
    signature: int = 0
    """Equal for modules with the same classes, shapes, parameters and functions throughout."""


def shape_text(shape: Sequence[int]) -> str:
    """A shape as tables show it: the sizes with multiplication signs between, `scalar` without dimensions."""
    return TIMES.join(map(str, shape)) if shape else "scalar"


@final
class ModuleTree:
    """Builds the tree of one trace; `root` is the model."""

    __slots__ = ("_calls", "_inside", "_own", "_records", "_seen", "_signatures", "root")

    def __init__(self, records: Records, class_name: str, costs: Sequence[OpCost | None] | None) -> None:
        self._records = records
        self._calls: list[list[ModuleCallRecord]] = [[] for _ in records.modules]
        self._own: list[dict[str, Work]] = [{} for _ in records.modules]
        self._inside = [Work() for _ in records.module_calls]
        self._seen: set[int] = set()
        self._signatures: dict[object, int] = {}
        loose: dict[str, Work] = {}
        self._count(costs, loose)
        for call in records.module_calls:
            self._calls[call.module.index].append(call)
        self.root = self._root(class_name, loose)

    def _count(self, costs: Sequence[OpCost | None] | None, loose: dict[str, Work]) -> None:
        """Give the work of each function call to the module call in which it ran, and to those around it."""
        inside = self._inside
        for op, work in works(self._records, costs):
            module = op.module
            own = loose if module is None else self._own[module.module.index]
            name = op.call.name if op.call is not None else op.kind
            known = own.get(name)
            if known is None:
                known = own[name] = Work()
            known.add(work)
            if module is not None:
                inside[module.index].add(work)
        for call in reversed(self._records.module_calls):
            if call.parent is not None:
                inside[call.parent.index].add(inside[call.index])

    def _root(self, class_name: str, loose: dict[str, Work]) -> ModuleNode:
        records = self._records
        root = next((module for module in records.modules if not module.address), None)
        if root is None:
            root = _bare_root(class_name)
            node = ModuleNode(
                name=class_name,
                record=root,
                calls=1,
                output="",
                dtype="",
                params=sum(_sizes(records)),
                tied=0,
                trainable=sum(prod(param.shape) for param in records.params if param.requires_grad),
                work=Work(),
            )
        else:
            node = self._node(root, class_name)
        for name, work in loose.items():
            node.own.setdefault(name, Work()).add(work)
            node.work.add(work)
        return node

    def _node(self, record: ModuleRecord, name: str) -> ModuleNode:
        calls = self._calls[record.index]
        output, dtype = _outputs(self._records, calls)
        node = ModuleNode(
            name=name,
            record=record,
            calls=len(calls),
            output=output,
            dtype=dtype,
            params=0,
            tied=0,
            trainable=0,
            work=self._work_of(record, calls),
            own=self._own[record.index],
            order=calls[0].index if calls else NEVER,
        )
        self._seen.add(record.index)
        self._add_params(node)
        for child in (self._records.modules[index] for index in record.children):
            node.children.append(self._child(record, child))
        node.children.sort(key=lambda child: (child.order, child.record.index))
        self._sum_children(node)
        node.signature = self._sign(node)
        return node

    def _child(self, parent: ModuleRecord, child: ModuleRecord) -> ModuleNode:
        name = _child_name(parent, child)
        if child.index not in self._seen:
            return self._node(child, name)
        tied = sum(prod(self._records.params[index].shape) for index in self._params_below(child, set()))
        node = ModuleNode(
            name=name,
            record=child,
            calls=0,
            output=f"is {child.address or 'the model'}",
            dtype="",
            params=0,
            tied=tied,
            trainable=0,
            work=Work(),
        )
        node.signature = self._sign(node)
        return node

    def _params_below(self, record: ModuleRecord, below: set[int]) -> set[int]:
        below.update(record.params)
        for index in record.children:
            self._params_below(self._records.modules[index], below)
        return below

    def _add_params(self, node: ModuleNode) -> None:
        """Count each parameter at the module in which it was first found."""
        record = node.record
        prefix = f"{record.address}." if record.address else ""
        for index in record.params:
            param = self._records.params[index]
            size = prod(param.shape)
            if param.address.rpartition(".")[0] == prefix.removesuffix("."):
                node.params += size
                node.trainable += size if param.requires_grad else 0
            else:
                node.tied += size

    def _sum_children(self, node: ModuleNode) -> None:
        for child in node.children:
            node.params += child.params
            node.trainable += child.trainable
            node.order = min(node.order, child.order)
            if not node.calls:
                node.work.add(child.work)

    def _work_of(self, record: ModuleRecord, calls: Sequence[ModuleCallRecord]) -> Work:
        total = Work()
        for call in calls:
            if not _nested_in(record, call):
                total.add(self._inside[call.index])
        return total

    def _sign(self, node: ModuleNode) -> int:
        work = node.work
        key = (
            node.record.class_name,
            node.calls,
            node.output,
            node.params,
            node.tied,
            node.trainable,
            work.flops,
            work.ops,
            work.uncounted,
            tuple(node.own),
            tuple((child.name, child.signature) for child in node.children),
        )
        return self._signatures.setdefault(key, len(self._signatures))


def works(records: Records, costs: Sequence[OpCost | None] | None) -> Iterator[tuple[OpRecord, Work]]:
    """The work of each computed op; a call with several outputs is counted at its first one."""
    last = -1
    for op in records.ops:
        call = op.call
        if call is None:
            continue
        work = Work(ops=1, activation_bytes=tensor_bytes(op.shape, op.dtype))
        if call.index != last:
            last = call.index
            work.duration_ns = call.duration_ns
            cost = None if costs is None else costs[call.index]
            if cost is None or cost.flops is None:
                work.uncounted = 1
            if cost is not None:
                work.flops = cost.flops or 0
                work.macs = cost.macs or 0
        yield op, work


def _outputs(records: Records, calls: Sequence[ModuleCallRecord]) -> tuple[str, str]:
    """Shape and dtype of what the calls of a module returned."""
    returned = [[records.ops[index] for index in call.outputs] for call in calls if call.outputs]
    if not returned:
        return "", ""
    first = returned[0]
    same = all(ops[0].shape == first[0].shape for ops in returned)
    more = f" +{len(first) - 1}" if len(first) > 1 else ""
    return (shape_text(first[0].shape) if same else "varies") + more, plain_dtype(first[0].dtype)


def _nested_in(record: ModuleRecord, call: ModuleCallRecord) -> bool:
    """Whether a call runs inside another call of the same module."""
    outer = call.parent
    while outer is not None:
        if outer.module is record:
            return True
        outer = outer.parent
    return False


def _child_name(parent: ModuleRecord, child: ModuleRecord) -> str:
    """Name under which `parent` registered `child`: one of the child's addresses lies directly below the parent's."""
    addresses = [child.address, *child.aliases]
    for place in (parent.address, *parent.aliases):
        prefix = f"{place}." if place else ""
        for address in addresses:
            if address.startswith(prefix) and address and "." not in address[len(prefix) :]:
                return address[len(prefix) :]
    return child.address.rpartition(".")[2]


def _sizes(records: Records) -> Iterator[int]:
    return (prod(param.shape) for param in records.params)


def _bare_root(class_name: str) -> ModuleRecord:
    return ModuleRecord(-1, "", class_name, training=False)
