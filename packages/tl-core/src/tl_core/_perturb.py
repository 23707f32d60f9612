"""Changing what a call was given: an op has to answer to each of its recorded parents, and to nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, final

from tl_core._record import OpRecord, ParamRecord
from tl_core._replay import CALL_ERRORS, Arguments, UnreplayableError, parents_of, plain_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._record import CallRecord
    from tl_core._replay import Examiner, Leaf

MAX_ATTEMPTS = 14


class Silence(NamedTuple):
    """An output that does not answer to a recorded parent, or answers to something that is none."""

    position: int
    """Which output."""
    parent: int
    """Index of the op that was changed."""
    recorded: bool
    """Whether it is a recorded parent."""


@final
class Base(NamedTuple):
    """A call that ran again as it was recorded."""

    call: CallRecord
    outputs: Sequence[OpRecord]
    arguments: Arguments
    values: Sequence[object]
    """The outputs of the replay."""
    written: Sequence[object]
    """What it left in arguments that it does not return."""
    variant: int
    before: object
    """Random state before it."""
    random: bool
    """Whether it drew random numbers."""


@final
class Perturber:
    """Perturbs the calls of one trace and counts what they say."""

    def __init__(self, examiner: Examiner, weights: bytearray, constant: bytearray) -> None:
        self._examiner = examiner
        self._weights = weights
        """Per op index: 1 where the value comes from parameters and buffers alone."""
        self._constant = constant
        """Per op index: 1 where it comes from none of inputs, parameters and buffers."""
        self.answered = 0
        self.conditional: Counter[str] = Counter()
        """Edges that answered under a condition only."""
        self.exempted: Counter[str] = Counter()

    def check(self, base: Base) -> list[Silence]:
        """Change each tensor argument of a call in turn.

        Returns:
            The edges that are wrong.
        """
        if self._examiner.gradient(base.call):
            self.exempted["gradient_graph"] += sum(len(output.parents) for output in base.outputs)
            return []
        wrong: list[Silence] = []
        settled: set[tuple[int, int]] = set()
        silent: dict[tuple[int, int], Leaf] = {}
        for leaf in base.arguments.leaves:
            if isinstance(leaf, ParamRecord):
                continue
            held = parents_of(leaf)
            listed = [o.position for o in base.outputs if any(parent in o.parents for parent in held)]
            foreign = [o.position for o in base.outputs if not any(parent in o.parents for parent in held)]
            if not listed and not foreign:
                continue
            answers = self._answers(base, leaf, listed, foreign)
            wrong += [Silence(position, held[0], False) for position in foreign if position in answers and held]
            for output in base.outputs:
                for parent in held:
                    if parent in output.parents:
                        edge = (output.position, parent)
                        if output.position in answers:
                            settled.add(edge)
                        else:
                            silent.setdefault(edge, leaf)
        self.answered += len(settled)
        return wrong + self._judge(base, settled, silent)

    def _answers(self, base: Base, leaf: Leaf, wanted: Sequence[int], unwanted: Sequence[int]) -> set[int]:
        """Which outputs change with an argument; attempts end when all wanted ones have changed."""
        examiner = self._examiner
        value = base.arguments.value(leaf)
        others: list[object] = [base.arguments.value(other) for other in base.arguments.leaves if other is not leaf]
        others += plain_numbers(base.call)
        answers: set[int] = set()
        pending = set(wanted)
        for attempt in range(MAX_ATTEMPTS):
            other = examiner.perturbed(value, attempt, base.call, others)
            if other is None:
                break
            answers |= self._changed(base, {id(leaf): other}, base.values, base.written)
            pending -= answers
            if not pending and (wanted or attempt >= 2 or answers.issuperset(unwanted)):
                break
        return answers

    def _changed(
        self, base: Base, replaced: dict[int, object], before: Sequence[object], written: Sequence[object] = ()
    ) -> set[int]:
        """Positions of the outputs that differ from `before` when arguments are replaced.

        All of them, where the call leaves something else than `written` in its arguments.
        """
        examiner = self._examiner
        if base.random:
            examiner.restore_random_state(base.before)
        try:
            args, kwargs = base.arguments.with_values(replaced)
            replayed = examiner.replay(base.call, base.outputs, args, kwargs, base.variant)
        except (UnreplayableError, *CALL_ERRORS):  # a call that refuses another value depends on the value
            return {output.position for output in base.outputs}
        if any(not examiner.same(one, other) for one, other in zip(written, replayed.hidden, strict=False)):
            return {output.position for output in base.outputs}
        again = replayed.outputs
        return {
            position
            for position in range(len(before))
            if position >= len(again) or not examiner.same(before[position], again[position])
        }

    def _judge(self, base: Base, settled: set[tuple[int, int]], silent: dict[tuple[int, int], Leaf]) -> list[Silence]:
        """Excuse silent edges with a counted reason, or report them."""
        wrong: list[Silence] = []
        for (position, parent), leaf in silent.items():
            if (position, parent) in settled:
                continue
            condition = self._condition(base, position, leaf)
            if condition is not None:
                self.conditional[condition] += 1
                self.answered += 1
                continue
            reason = self._reason(base, position, parent, leaf, settled)
            if reason is None:
                wrong.append(Silence(position, parent, True))
            else:
                self.exempted[reason] += 1
        return wrong

    def _condition(self, base: Base, position: int, leaf: Leaf) -> str | None:
        """Under what change of its other arguments, or to what other change, an output answers."""
        examiner = self._examiner
        excuse = examiner.excuse(base.call, leaf)
        value = base.arguments.value(leaf)
        if excuse == "shape_only":
            for attempt in range(MAX_ATTEMPTS):
                other = examiner.reshaped(value, attempt)
                if other is None:
                    return None
                if position in self._changed(base, {id(leaf): other}, base.values):
                    return "other_shape"
        constant = all(self._constant[parent] for parent in parents_of(leaf))
        name = "other_indexed_values" if excuse == "index" else "other_constants" if constant else "other_weights"
        emptied = any(0 in output.shape for output in base.outputs if output.position == position)
        if emptied and excuse != "index":
            name = "other_values"
        replaced = self._replaced(base, leaf, emptied or excuse == "index", constant)
        if replaced and self._answers_with(base, leaf, position, replaced):
            return name
        if examiner.perturbed(value, 1, base.call, ()) is not None and self._answers_larger(base, leaf, position):
            return "other_shape"
        return None

    def _reason(self, base: Base, position: int, parent: int, leaf: Leaf, settled: set[tuple[int, int]]) -> str | None:
        output = next(output for output in base.outputs if output.position == position)
        if 0 in output.shape or self._examiner.perturbed(base.arguments.value(leaf), 0, base.call, ()) is None:
            return "nothing_to_perturb"
        if any(edge != position and of == parent for edge, of in settled):
            return "answers_in_other_output"
        excuse = self._examiner.excuse(base.call, leaf)
        return excuse if excuse != "index" else None

    def _replaced(self, base: Base, leaf: Leaf, everything: bool, constant: bool) -> dict[int, object]:
        """Other values for the weights among the arguments, or for all that is not `leaf`; empty ones filled.

        Where `leaf` is `constant`, so is what it meets in a constant expression, and that is replaced too.
        """
        replaced: dict[int, object] = {}
        for other in base.arguments.leaves:
            if other is leaf:
                continue
            value = base.arguments.value(other)
            empty = 0 in self._examiner.describe(value)[0]
            fixed = constant and all(self._constant[parent] for parent in parents_of(other))
            if everything or empty or fixed or self._is_weight(other):
                changed = self._another(value, base)
                if changed is not None:
                    replaced[id(other)] = changed
        return replaced

    def _another(self, value: object, base: Base) -> object | None:
        """A value that differs from `value`, the noisy one where possible."""
        for attempt in (1, 0, 2):
            changed = self._examiner.perturbed(value, attempt, base.call, ())
            if changed is not None and not self._examiner.same(value, changed):
                return changed
        return None

    def _answers_with(self, base: Base, leaf: Leaf, position: int, replaced: dict[int, object]) -> bool:
        """Whether an output answers to `leaf` once other arguments are replaced."""
        start = base.arguments.value(leaf)
        if 0 in self._examiner.describe(start)[0]:
            start = self._examiner.perturbed(start, 0, base.call, ())
            replaced = {**replaced, id(leaf): start}
        before = self._outputs(base, replaced)
        if before is None or start is None:
            return False
        for attempt in range(MAX_ATTEMPTS):
            value = self._examiner.perturbed(start, attempt, base.call, ())
            if value is None:
                return False
            if position in self._changed(base, {**replaced, id(leaf): value}, before):
                return True
        return False

    def _answers_larger(self, base: Base, leaf: Leaf, position: int) -> bool:
        """Whether an output answers where all tensors but the weights are larger: a softmax over one is constant."""
        examiner = self._examiner
        larger: dict[int, object] = {}
        for other in base.arguments.leaves:
            if not isinstance(other, ParamRecord):
                value = examiner.enlarged(base.arguments.value(other))
                if value is None:
                    return False
                larger[id(other)] = value
        before = self._outputs(base, larger)
        if before is None or position >= len(before):
            return False
        for attempt in (1, 2, 0):
            value = examiner.perturbed(larger[id(leaf)], attempt, base.call, ())
            after = None if value is None else self._outputs(base, {**larger, id(leaf): value})
            if after is not None and position < len(after) and not examiner.same(before[position], after[position]):
                return True
        return False

    def _outputs(self, base: Base, replaced: dict[int, object]) -> Sequence[object] | None:
        """Outputs of the call with other arguments; None where it refuses them."""
        try:
            if base.random:
                self._examiner.restore_random_state(base.before)
            args, kwargs = base.arguments.with_values(replaced)
            return self._examiner.replay(base.call, base.outputs, args, kwargs, base.variant).outputs
        except (UnreplayableError, *CALL_ERRORS):
            return None

    def _is_weight(self, leaf: Leaf) -> bool:
        if isinstance(leaf, ParamRecord):
            return True
        return bool(parents_of(leaf)) and all(self._weights[parent] for parent in parents_of(leaf))
