"""Running recorded torch calls again, and comparing and perturbing their tensors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_core import (
    AUTOCAST_KEY,
    AliasRead,
    CallRecord,
    Difference,
    Finiteness,
    GeneratorRead,
    OpRecord,
    ParamRecord,
    Replayed,
    UnreplayableError,
    leaves_of_argument,
)
from tl_torch._function_table import FUNCTION_TABLE, LAYOUT_KEY, FunctionInfo, describe
from tl_torch._perturb import Perturbations
from tl_torch._replay_layout import laid_out
from tl_torch._replay_table import (
    INDEX_AT,
    OF_A_LEVEL,
    OVERWRITING,
    SHAPE_ONLY_FIRST,
    SHAPE_ONLY_SECOND,
    SHAPED_BY_ALL,
    UNCHECKED,
    UNINITIALISED,
)
from tl_torch._rerun import Rerun
from tl_torch._resumption import HALVES, autocast_as, generator_of, restore
from tl_torch._structure import tensors_in
from tl_torch._surroundings import packed
from tl_torch._torch_private import OpOverload, OpOverloadPacket, version_of
from tl_torch._values import contains, difference, finiteness, same

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from tl_core import Leaf, Records

VARIANTS, WITH_GRADIENTS = 5, 1
"""Variant 0 runs a call without gradients, 1 with them, where autocast was not noted 2 to 4 under that of the outputs,
under that of the arguments, and without it."""


@final
class TorchExaminer:
    """The `Examiner` of torch."""

    variants = VARIANTS

    def __init__(self) -> None:
        self._functions: dict[Callable[..., Any], FunctionInfo] = dict(FUNCTION_TABLE)
        self._perturbations = Perturbations()
        self._records: Records | None = None
        self._autocast_noted = False
        self._start: object = None
        self._rerun: Rerun | None = None
        self._rerun_state: object = None

    def begin(self, records: Records, random_state: object) -> None:
        """Remember the graph, which gradients taken inside the run go back through."""
        self._records = records
        self._start = random_state
        self._autocast_noted = records.autocast_noted
        self.variants = WITH_GRADIENTS + 1 if records.autocast_noted else VARIANTS

    def gradient(self, call: CallRecord) -> bool:
        """Whether the call is `torch.autograd.grad`."""
        return call.func is torch.autograd.grad

    def is_zero(self, value: object) -> bool:
        """Whether every element is zero."""
        return not bool(cast("torch.Tensor", value).any())

    def is_tensor(self, value: object) -> bool:
        """Whether `value` is a tensor."""
        return isinstance(value, torch.Tensor)

    def describe(self, value: object) -> tuple[tuple[int, ...], object]:
        """Shape and dtype of a tensor."""
        tensor = cast("torch.Tensor", value)
        return () if tensor.is_nested else tuple(tensor.shape), tensor.dtype

    # ---------------------------------------------------------------- replay

    def replay(
        self,
        call: CallRecord,
        outputs: Sequence[OpRecord],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        variant: int = 0,
    ) -> Replayed:
        """Run a recorded call on tensors, in copies of what it writes."""
        function = call.func
        if function is None:
            raise UnreplayableError("function_missing", "the function was not kept")
        if self.gradient(call):
            return Replayed(self._gradients(call))
        if call.name in OF_A_LEVEL:
            raise UnreplayableError(
                "dual_level", "the level of forward-mode differentiation that it belongs to has ended"
            )
        info = self._functions.get(function)
        if info is None:
            info = self._functions[function] = describe(function)
        layout = None if call.meta is None else call.meta.get(LAYOUT_KEY)
        if layout is not None:
            args = laid_out(function, args, kwargs, cast("tuple[int, tuple[int, ...]]", layout))
        copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        if call.inplace or info.write_rule != "none" or "out" in kwargs:
            args, kwargs = _isolated(info, call, args, kwargs, copies)
        given = [tensor for _, tensor in tensors_in([args, kwargs])]
        versions = [version_of(tensor) for tensor in given]
        with self._surroundings(call, outputs, given, variant):
            if variant == WITH_GRADIENTS:
                args, kwargs = _following(args), {name: _following([value])[0] for name, value in kwargs.items()}
            result = function(*args, **kwargs)
        if any(tensor.is_nested for tensor in [*given, *[tensor for _, tensor in tensors_in(result)]]):
            raise UnreplayableError("nested_tensor", "it takes or gives a nested tensor, whose rows differ in length")
        written = [(original, copy) for original, copy in copies.values()]
        moved = [tensor for tensor, version in zip(given, versions, strict=True) if version_of(tensor) != version]
        undeclared = [tensor for tensor in moved if all(tensor is not copy for _, copy in written)]
        results = _results(result, info, args, kwargs, [copy for _, copy in written])
        return Replayed(results, written, _mutation(function, result, moved, undeclared))

    def _gradients(self, call: CallRecord) -> list[torch.Tensor]:
        """What a gradient taken inside the run gives when everything before it runs again under autograd."""
        if self._records is None:
            raise UnreplayableError("graph_missing", "a gradient needs the graph that led to its arguments")
        state = self.random_state()
        if self._rerun is None:
            self._rerun = Rerun(self._records)
            self._rerun_state = self._start
        if self._rerun_state is not None:
            self.restore_random_state(self._rerun_state)
        found = [tensor.detach() for tensor in self._rerun.upto(call)]
        self._rerun_state = self.random_state()
        self.restore_random_state(state)
        return found

    @contextmanager
    def _surroundings(
        self, call: CallRecord, outputs: Sequence[OpRecord], given: Sequence[torch.Tensor], variant: int
    ) -> Generator[None, None, None]:
        """Where a call runs again: as was noted, or else as here and then as it may have been."""
        with torch.set_grad_enabled(variant == WITH_GRADIENTS):
            if self._autocast_noted:
                noted = cast("Mapping[str, str]", (call.meta or {}).get(AUTOCAST_KEY, {}))
                with autocast_as(noted):
                    yield
                return
            if variant in {0, WITH_GRADIENTS} or not outputs:
                yield
                return
            device = torch.device(str(outputs[0].device)).type
            candidates = [[output.dtype for output in outputs], [tensor.dtype for tensor in given], []][variant - 2]
            half = next((dtype for dtype in candidates if dtype in HALVES), None)
            with torch.autocast(device, dtype=cast("Any", half), enabled=half is not None, cache_enabled=False):
                yield

    # ---------------------------------------------------------------- values

    def same(self, left: object, right: object) -> bool:
        """Whether two tensors have the same shape, dtype and elements; NaN equals NaN."""
        return same(cast("torch.Tensor", left), cast("torch.Tensor", right))

    def difference(self, saved: object, again: object, depth: int) -> Difference | None:
        """How two tensors differ beyond rounding, or None."""
        return difference(cast("torch.Tensor", saved), cast("torch.Tensor", again), depth)

    def finiteness(self, value: object) -> Finiteness:
        """How many elements are finite."""
        return finiteness(cast("torch.Tensor", value))

    def contains(self, value: object, sources: Sequence[object]) -> bool:
        """Whether each element of `value` occurs in one of `sources`."""
        return contains(cast("torch.Tensor", value), cast("Sequence[torch.Tensor]", sources))

    def perturbed(self, value: object, attempt: int, call: CallRecord, others: Sequence[object]) -> object | None:
        """Another tensor of the same shape and dtype."""
        if call.name in UNCHECKED or call.kernel == "higher_order::while_loop":  # it might never end
            return None
        return self._perturbations.perturbed(cast("torch.Tensor", value), attempt, call.name, others)

    def reshaped(self, value: object, attempt: int) -> object | None:
        """The value in another shape, then in another dtype."""
        tensor = cast("torch.Tensor", value).detach()
        if attempt == 0:
            return torch.ones(
                [max(1, 2 * size) for size in tensor.shape] or [2], dtype=tensor.dtype, device=tensor.device
            )
        if attempt == 1:
            return tensor.to(torch.float64 if tensor.dtype is not torch.float64 else torch.float32)
        return None

    def enlarged(self, value: object) -> object | None:
        """The tensor twice as long in every dimension, its non-zero real elements scattered a little."""
        return self._perturbations.enlarged(cast("torch.Tensor", value))

    def excuse(self, call: CallRecord, leaf: Leaf) -> str | None:
        """Why the call need not answer to a change of `leaf`."""
        if isinstance(leaf, ParamRecord):
            return None
        if call.name in UNCHECKED:
            return "unchecked"
        if call.kernel == "higher_order::cond":
            return "index"  # it says which branch runs, or the other branch reads it
        if call.kernel == "higher_order::flex_attention" and _is_whole(leaf):
            return "block_mask"  # which blocks a kernel may leave out; the plain program computes all of them
        first = bool(call.args) and call.args[0] is leaf
        second = len(call.args) > 1 and call.args[1] is leaf
        if (first and call.name in SHAPE_ONLY_FIRST) or (
            call.name in SHAPE_ONLY_SECOND and (second or leaf in (call.kwargs or {}).values())
        ):
            return "shape_only"
        if call.name in SHAPED_BY_ALL or (call.name == "bernoulli" and (len(call.args) > 1 or call.kwargs)):
            return "shape_only"
        if first and call.name in OVERWRITING:
            return "overwritten"
        return "index" if _is_index(call, leaf) else None

    def uninitialised(self, call: CallRecord) -> bool:
        """Whether the call returns memory as it found it."""
        if call.name == "new":  # given sizes; given values, it holds them
            return all(type(size) in (int, torch.Size) for size in call.args[1:])
        return call.name in UNINITIALISED

    # ---------------------------------------------------------------- random numbers

    def generator(self, read: GeneratorRead) -> torch.Generator:
        """A generator that stands where the one stood that a call was given."""
        return generator_of(read)

    def random_state(self) -> object:
        """State of torch's generators on all devices."""
        states = [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else ())]
        return packed([state.numpy().tobytes() for state in states])

    def restore_random_state(self, state: object) -> None:
        """Put torch's generators back into `state`."""
        restore(state)


def _isolated(
    info: FunctionInfo, call: CallRecord, args: Sequence[Any], kwargs: Mapping[str, Any],
    copies: dict[int, tuple[torch.Tensor, torch.Tensor]],
) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
    """Arguments in which everything that the call writes is a copy."""

    def copied(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in copies:
            copies[id(tensor)] = (tensor, tensor.detach().clone())
        return copies[id(tensor)][1]

    declared = None if info.undeclared is None else info.undeclared(args, dict(kwargs))
    written = {id(tensor) for tensor in declared or () if tensor is not None}

    def if_written(tensor: torch.Tensor) -> torch.Tensor:
        return copied(tensor) if declared is None or id(tensor) in written else tensor

    if info.write_rule == "moved" or declared is not None:
        return (
            [_mapped(value, if_written) for value in args],
            {name: _mapped(value, if_written) for name, value in kwargs.items()},
        )
    named = {name: _mapped(value, copied) if name == "out" else value for name, value in kwargs.items()}
    if "out" in named and info.write_rule == "none":
        return list(args), named
    if not args:
        return [], {name: _mapped(value, copied) for name, value in named.items()}
    return [_mapped(args[0], copied), *args[1:]], named


def _is_index(call: CallRecord, leaf: Leaf) -> bool:
    """Whether an argument says where: it stands at such a place, and is of whole numbers or a mask."""
    places = INDEX_AT.get(call.name, ())
    if not any(leaf is given for place in places for given in leaves_of_argument(call, *place)):
        return False
    return _is_whole(leaf)


def _is_whole(leaf: Leaf) -> bool:
    """Whether an argument is of whole numbers or a mask."""
    record = leaf.base if isinstance(leaf, AliasRead) else leaf
    return str(record.dtype).rpartition(".")[2].startswith(("int", "uint", "bool"))


def _following(values: Sequence[Any]) -> list[Any]:
    """Floating-point tensors among `values` as leaves that autograd follows."""

    def follow(tensor: torch.Tensor) -> torch.Tensor:
        grows = tensor.is_floating_point() or tensor.is_complex()
        return tensor.detach().clone().requires_grad_() if grows else tensor

    return [_mapped(value, follow) for value in values]


def _mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_mapped(item, change) for item in value)
    return value


def _results(
    result: Any, info: FunctionInfo, args: Sequence[Any], kwargs: Mapping[str, Any], written: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """The outputs of a call as capture counts them."""
    found = [tensor for _, tensor in tensors_in(result)]
    if found:
        return found
    if info.write_rule == "first" and args:
        return [tensor for _, tensor in tensors_in(args[0])]
    if info.undeclared is not None:
        return [tensor for tensor in info.undeclared(args, dict(kwargs)) if tensor is not None]
    if info.write_rule == "moved":
        return [tensor for tensor in written if version_of(tensor) > 0]
    return [tensor for _, tensor in tensors_in(kwargs.get("out"))]


def _mutation(
    function: Callable[..., Any], result: Any, moved: Sequence[torch.Tensor], undeclared: Sequence[torch.Tensor]
) -> str:
    """What a call wrote without its outputs showing it."""
    if undeclared:
        return f"it wrote {len(undeclared)} of its arguments without saying so"
    if not moved or not isinstance(function, (OpOverload, OpOverloadPacket)):
        return ""
    returned = [tensor for _, tensor in tensors_in(result)]
    hidden = [tensor for tensor in moved if all(tensor is not other for other in returned)]
    if not returned and len(moved) == 1:
        return ""
    return f"it wrote {len(hidden)} of its arguments, which none of its results is" if hidden else ""
