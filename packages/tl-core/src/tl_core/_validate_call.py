"""One recorded call held against its own arguments: replay, comparison, perturbation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

from tl_core._payload import materialize
from tl_core._perturb import Base, Perturber
from tl_core._record import AROUND_KEY, AliasRead, CallRecord, OpRecord
from tl_core._replay import (
    CALL_ERRORS,
    Arguments,
    Replayed,
    UnreplayableError,
    leaves_for,
    leaves_in,
    leaves_of,
    leaves_of_argument,
    parents_of,
)
from tl_core._validate_finding import Finding, nothing_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tl_core._replay import Difference, Examiner, Leaf
    from tl_core._validate_random import RandomReplay


@final
class Verdict(NamedTuple):
    """What the checks of one call say."""

    findings: Sequence[Finding]
    unverified: str = ""
    """Why the call could not be checked; with findings, why they may be due to other random numbers."""
    replayed: Replayed | None = None
    arguments: Arguments | None = None


@final
class CallChecker:
    """Checks the calls of one trace, in order, so that the random generators move as they did."""

    def __init__(
        self,
        ops: Sequence[OpRecord],
        examiner: Examiner,
        perturber: Perturber,
        depth: Callable[[CallRecord, Sequence[OpRecord]], int],
        constant: bytearray,
        random: RandomReplay,
    ) -> None:
        self._ops = ops
        self._after_gradient = bytearray(len(ops))
        """Per op index: 1 where the value came through a gradient."""
        self._examiner = examiner
        self._perturber = perturber
        self._depth = depth
        self._constant = constant
        """Per op index: 1 where the value depends on no input, parameter or buffer."""
        self._random = random
        self._hidden: dict[int, Sequence[object]] = {}
        """By call index: what calls left in arguments that they did not return."""
        self.exempted: Counter[str] = Counter()

    def check(self, call: CallRecord, outputs: Sequence[OpRecord]) -> Verdict:
        """Run a call again and compare.

        Args:
            call: what to check.
            outputs: its ops; empty for a call whose outputs were all dropped.
        """
        findings = list(_argument_findings(call, outputs, self._examiner))
        if findings:
            return Verdict(findings)
        try:
            base, replayed, found = self._run(call, outputs)
        except UnreplayableError as error:
            if error.reason == "literal" and all(not output.parents and not call.params for output in outputs):
                self.exempted["literal"] += len(outputs)
                return Verdict([])
            self._random.lose()
            return Verdict([], unverified=error.reason)
        except CALL_ERRORS as error:
            self._random.lose()
            message = (
                f"running it again raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
            return Verdict([Finding(output.index, "forward_replay", message) for output in outputs[:1]])
        if replayed.mutation:
            found = [
                Finding(output.index, "source_provenance", replayed.mutation, extra=_ONE_MUTATION)
                for output in outputs[:1]
            ]
        elif found and base.random and self._random.doubt:
            return Verdict(found, unverified=self._random.doubt, replayed=replayed, arguments=base.arguments)
        if not found and outputs and self._nested_gradient(call, outputs):
            message = "it takes a gradient of a gradient, or with respect to inputs that depend on each other"
            extra = {"invariant": "backward_graph_invariants"}
            found = [Finding(outputs[0].index, "metadata_invariant", message, extra=extra)]
        if not found and outputs:
            found = list(self._degenerate(base)) or list(self._narrowed(base)) or self._unanswered(base)
        return Verdict(found, replayed=replayed, arguments=base.arguments)

    # ---------------------------------------------------------------- replay

    def _run(self, call: CallRecord, outputs: Sequence[OpRecord]) -> tuple[Base, Replayed, list[Finding]]:
        examiner, random = self._examiner, self._random
        arguments = Arguments(call, examiner.generator)
        args, kwargs = arguments.with_values({})
        before = random.enter(call)
        replayed = examiner.replay(call, outputs, args, kwargs, 0)
        drew = random.leave()
        chosen, found = 0, self._compared(call, outputs, replayed)
        if found:
            for variant in range(1, examiner.variants):
                if drew:
                    random.again()
                try:
                    other = examiner.replay(call, outputs, args, kwargs, variant)
                except CALL_ERRORS:  # it does not run in those surroundings
                    continue
                if not (differing := self._compared(call, outputs, other)):
                    chosen, found, replayed = variant, differing, other
                    break
        left = () if call.inplace else replayed.hidden
        if left:
            self._hidden[call.index] = left
        base = Base(call, outputs, arguments, replayed.outputs, left, chosen, before, drew)
        return base, replayed, found

    def _compared(self, call: CallRecord, outputs: Sequence[OpRecord], replayed: Replayed) -> list[Finding]:
        found: list[Finding] = []
        uninitialised = self._examiner.uninitialised(call)
        for output in outputs:
            if output.position >= len(replayed.outputs):
                found.append(
                    Finding(output.index, "forward_replay", f"running it again gave {len(replayed.outputs)} tensors")
                )
                continue
            saved = materialize(output.payload)
            again = replayed.outputs[output.position]
            if saved is None:
                raise UnreplayableError("value_missing", "the value of the op was not saved")
            if self._examiner.same(saved, again):
                continue
            if uninitialised and self._examiner.describe(saved) == self._examiner.describe(again):
                continue
            depth = self._depth(call, outputs)
            difference: Difference | None = self._examiner.difference(saved, again, depth)
            if difference is None:
                continue
            found.append(Finding(output.index, "forward_replay", difference.message, difference, saved, again, depth))
        return found

    # ---------------------------------------------------------------- what the values say

    def _degenerate(self, base: Base) -> Iterator[Finding]:
        """Outputs without one finite element."""
        examiner = self._examiner
        if examiner.gradient(base.call) and all(examiner.is_zero(value) for value in base.values):
            yield Finding(
                base.outputs[0].index,
                "degenerate_forward",
                "every gradient that it took is zero, so nothing that depends on it can be checked",
                saved=base.values[0],
                extra={"degenerate_kind": "zero_gradient", "scope": "op"},
            )
            return
        for output in base.outputs:
            value = base.values[output.position]
            if examiner.finiteness(value) != "none" or examiner.uninitialised(base.call):
                continue
            if not output.parents or self._constant[output.index]:
                self.exempted["constant_without_finite_values"] += 1
                continue
            yield nothing_finite(output.index, value)

    def _narrowed(self, base: Base) -> Iterator[Finding]:
        """Arguments in memory that others wrote: what they hold must come from the recorded parents."""
        overwritten = {id(leaf) for leaf in _written(base.call)}
        for output in base.outputs:
            for leaf in leaves_for(base.call, output.position):
                if not isinstance(leaf, AliasRead) or id(leaf) in overwritten:
                    continue
                if all(parent in output.parents for parent in parents_of(leaf)):
                    continue
                value = base.arguments.value(leaf)
                records = [leaf.base, *leaf.writers]
                kept = [r for r in records if not isinstance(r, OpRecord) or r.index in output.parents]
                sources = [materialize(r.payload) for r in kept if isinstance(r, OpRecord)]
                if len(sources) < len(kept) or any(source is None for source in sources):
                    continue
                sources += [left for r in kept if isinstance(r, OpRecord) for left in self._left_by(r)]
                if self._examiner.contains(value, sources):
                    continue
                if self._examiner.contains(base.values[output.position], sources):
                    continue
                yield Finding(
                    output.index, "argument_logging", "it read memory that holds values of ops that are not its parents"
                )

    def _nested_gradient(self, call: CallRecord, outputs: Sequence[OpRecord]) -> bool:
        """Whether a gradient goes back through another gradient, or one of its inputs led to another."""
        for output in outputs:
            upstream = any(self._after_gradient[parent] for parent in output.parents)
            self._after_gradient[output.index] = upstream or self._examiner.gradient(call)
        return self._examiner.gradient(call) and (
            any(self._after_gradient[parent] for parent in outputs[0].parents) or self._linked(call)
        )

    def _linked(self, call: CallRecord) -> bool:
        wanted = {leaf.index for leaf in leaves_of_argument(call, 1, "inputs") if isinstance(leaf, OpRecord)}
        for index in wanted:
            front = list(self._ops[index].parents)
            seen: set[int] = set()
            while front:
                parent = front.pop()
                if parent in wanted:
                    return True
                if parent not in seen:
                    seen.add(parent)
                    front.extend(self._ops[parent].parents)
        return False

    def _left_by(self, record: OpRecord) -> Sequence[object]:
        return () if record.call is None else self._hidden.get(record.call.index, ())

    def _unanswered(self, base: Base) -> list[Finding]:
        if self._examiner.uninitialised(base.call):
            self._perturber.exempted["uninitialised_memory"] += sum(len(o.parents) for o in base.outputs)
            return []
        found: list[Finding] = []
        silences = self._perturber.check(base)
        if base.random:
            self._random.resume()
        by_position = {output.position: output for output in base.outputs}
        for silence in silences:
            output = by_position[silence.position]
            if silence.recorded:
                message = "its value does not change with its parent {parent}" + self._why(base, silence.parent)
                found.append(Finding(output.index, "perturbation", message, extra={"parent": silence.parent}))
            else:
                message = "its value depends on {parent}, which is not among its parents"
                found.append(Finding(output.index, "argument_logging", message, extra={"parent": silence.parent}))
        return found

    def _why(self, base: Base, parent: int) -> str:
        """What is known of the reason for which an op does not answer to a parent."""
        others = [leaf for leaf in leaves_of(base.call) if parent not in parents_of(leaf)]
        zero = any(self._examiner.is_zero(base.arguments.value(leaf)) for leaf in others)
        return "; another of its arguments is zero everywhere" if zero else ""


def _argument_findings(call: CallRecord, outputs: Sequence[OpRecord], examiner: Examiner) -> Iterator[Finding]:
    """Arguments and parents have to name the same ops, in the same order."""
    written = {leaf.index for leaf in _written(call) if isinstance(leaf, OpRecord)}
    raw = any(examiner.is_tensor(value) for value in _plain_values([*call.args, *(call.kwargs or {}).values()]))
    around = cast("Sequence[int]", (call.meta or {}).get(AROUND_KEY, ()))
    for output in outputs:
        leaves = list(leaves_for(call, output.position))
        plain = list(dict.fromkeys(leaf.index for leaf in leaves if isinstance(leaf, OpRecord)))
        aliased = {parent for leaf in leaves if isinstance(leaf, AliasRead) for parent in parents_of(leaf)}
        aliased.update(around)
        if raw:
            yield Finding(output.index, "source_provenance", "it was given a tensor without a record", extra=_ONE_GAP)
        unknown = [parent for parent in output.parents if parent not in plain and parent not in aliased]
        if unknown and not _has_opaque(call):
            message = "its parent {parent} is none of its arguments"
            yield Finding(output.index, "argument_logging", message, extra={"parent": unknown[0]})
            continue
        missing = [index for index in plain if index not in output.parents and index not in written]
        if missing:
            message = "it was given {parent}, which is not among its parents"
            yield Finding(output.index, "argument_logging", message, extra={"parent": missing[0]})
            continue
        listed = [parent for parent in output.parents if parent in plain and parent not in aliased]
        if listed != [index for index in plain if index in output.parents and index not in aliased]:
            message = f"its parents are ops {listed}, which is not the order of its arguments"
            yield Finding(output.index, "argument_logging", message)


def _written(call: CallRecord) -> list[Leaf]:
    """Arguments that the call wrote over: what they held before need not be a parent."""
    named = call.kwargs or {}
    first = (
        (call.args[:1] or list(named.values())[:1]) if call.inplace or call.name.endswith("_") else ()
    )  # by name where an initialiser was called
    return [leaf for value in (*first, named.get("out")) for leaf in leaves_in(value)]


_ONE_MUTATION = {"reasons": ["unrecorded_operator_mutation"], "n_gaps": 1}
_ONE_GAP = {"reasons": ["unrecorded_argument"], "n_gaps": 1}


def _plain_values(values: Sequence[object]) -> Iterator[object]:
    for value in values:
        if type(value) in (list, tuple):
            yield from _plain_values(cast("Sequence[object]", value))
        elif not isinstance(value, (OpRecord, AliasRead, type(None), bool, int, float, str)):
            yield value


def _has_opaque(call: CallRecord) -> bool:
    return any(
        type(value).__name__ == "Opaque"
        for value in _plain_values([*call.args, *cast("Any", call.kwargs or {}).values()])
    )
