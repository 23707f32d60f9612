"""Which copies of a stack the two ends of a line belong to: `all 6`, `last copy`, `same for all 6`, or copies in pairs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._compose.sums import is_one_call
from tl_viz._names import shape_text
from tl_viz._plan import GROWING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_viz._compose.follow import Trail
    from tl_viz._plan import Tree

SAME = "same for all"
"""How the text begins that one tensor enters every copy."""

ONE_EACH = "one per copy"
"""What is said where every copy reads, or gives, a tensor of its own."""

BEFORE = "and all before"
"""What enters a copy that reads a tensor and the outputs of all copies before it."""

Path = tuple[tuple[int, int], ...]
"""Runs that a place stands in and which copy of each, the outermost first."""


class _Tie(NamedTuple):
    """One tensor between two copies."""

    source: int
    """Place of the op that gives it."""
    reader: int
    """Place of the op that reads it."""
    given: tuple[int, ...]
    """Copies of the stacks that the line leaves, the outermost first; empty where it leaves none."""
    read: tuple[int, ...]
    """Copies of the stacks that the line enters."""


class Ties:
    """All tensors between two items of which one stands in a stack that the other does not stand in."""

    def __init__(self, tree: Tree, trail: Trail) -> None:
        self.tree = tree
        self.trail = trail
        self.met: dict[tuple[int, int], list[_Tie]] = {}
        self.runs: dict[tuple[int, int], tuple[Path, Path]] = {}
        """Two items -> the last stacks that a line between them leaves and enters."""
        self.rounds: dict[tuple[int, int], dict[str, int]] = {}
        """Two items -> which rounds of a loop give or read what goes from the first to the second, and how many there are."""
        self.single: set[tuple[int, int]] = set()
        """Two items of which the second reads what the first gives otherwise than in a list of any length."""
        self.ends_here: set[tuple[int, int]] = set()
        """Two items of which the second is an output: what it reads leaves the network."""
        self.paths: dict[int, Path] = {-1: ()}
        self.sizes = [0] * len(trail.looped)
        for run, index, _ in trail.copies:
            self.sizes[run] = max(self.sizes[run], index + 1)

    def add(self, source: int, reader: int) -> None:
        """Note a tensor that goes from one place to another and is drawn between their items."""
        tree, trail, network = self.tree, self.trail, self.tree.network
        pair = (trail.item[source], trail.item[reader])
        if pair[0] == pair[1]:
            return
        if network.turns:
            text = network.turns.get(tree.op_at[reader], {}).get(tree.op_at[source], "")
            if text:
                rounds = max(network.rounds[tree.op_at[source]], network.rounds[tree.op_at[reader]])
                self.rounds.setdefault(pair, {})[text] = rounds
        if trail.copy_of[source] == trail.copy_of[reader]:
            return
        start, end = self._path(trail.copy_of[source]), self._path(trail.copy_of[reader])
        same = 0
        while same < min(len(start), len(end)) and start[same][0] == end[same][0]:
            same += 1
        if any(index for _, index in (*start[:same], *end[:same])):
            return  # it goes from one copy to another, or repeats what the first copy does
        left, entered = start[same:], end[same:]
        if entered and network.made_by and self._outputs_of_one_call(reader, entered):
            entered = ()
        self.runs[pair] = (left, entered)
        if network.functions[tree.op_at[reader]] not in GROWING:
            self.single.add(pair)
        if network.roles[tree.op_at[reader]] == "output":
            self.ends_here.add(pair)
        tie = _Tie(source, reader, tuple([index for _, index in left]), tuple([index for _, index in entered]))
        self.met.setdefault(pair, []).append(tie)

    def texts(self) -> dict[tuple[int, int], str]:
        """Return what stands at the end of the line between two items, where it is not the plain chain."""
        found: dict[tuple[int, int], str] = {}
        for pair, rounds in self.rounds.items():
            if len(rounds) in {1, max(rounds.values())}:
                found[pair] = next(iter(rounds)) if len(rounds) == 1 else "one per round"
            else:
                found[pair] = ""
        for pair, ties in self.met.items():
            text = self._text(pair, ties)
            if text:
                found.setdefault(pair, self._named(pair, ties, text))
        return {pair: text for pair, text in found.items() if text}

    def _text(self, pair: tuple[int, int], ties: list[_Tie]) -> str:
        left, entered = self.runs[pair]
        given = {tie.given for tie in ties}
        read = {tie.read for tie in ties}
        while len(entered) > 1 and not self._looped(entered) and {copies[0] for copies in read} == {0}:
            entered, read = entered[1:], {copies[1:] for copies in read}  # a chain is entered at its first copy
        while (
            len(left) > 1 and not self._looped(left) and {copies[0] for copies in given} == {self.sizes[left[0][0]] - 1}
        ):
            left, given = left[1:], {copies[1:] for copies in given}
        if left and entered and len(given) > 1 and len(read) > 1 and pair not in self.ends_here:
            return _in_pairs({(tie.given, tie.read) for tie in ties})
        words: list[str] = []
        if left and self._is_call(left):
            words.append(self._outputs(left, given))
        elif left and self._is_last(left, given) and not self._looped(left):
            words.append(self._grown(ties[0].source))
        elif left:
            words.append(self._given(left, given, len({tie.source for tie in ties})))
        if entered and pair not in self.ends_here and not (self._is_first(entered, read) and not self._looped(entered)):
            word = self._read(entered, read, ties)
            before = word.startswith(SAME) and self._is_dense(entered) and pair not in self.single
            words.append(BEFORE if before else word)
        return ", ".join([word for word in words if word])

    def _named(self, pair: tuple[int, int], ties: list[_Tie], text: str) -> str:
        """Return a text with the name of what a line carries, where it leads from several inputs or to several outputs."""
        for item, places in zip(pair, ({tie.source for tie in ties}, {tie.reader for tie in ties}), strict=True):
            branch = self.trail.branch[item]
            every = self._last_words([branch.first, *branch.others]) if branch.op >= 0 else set[str]()
            found = self._last_words(places)
            if len(every) > 1 and len(found) == 1:
                word = found.pop()
                if text == ONE_EACH:
                    return f"own {word}"
                return f"{text} {word}" if re.fullmatch(r"all \d+", text) else f"{word}, {text}"
        return text

    def _last_words(self, places: Iterable[int]) -> set[str]:
        """Return the last parts of the names of inputs and outputs: `keys` and `values`; none where one of them is a number."""
        names, op_at = self.tree.network.places, self.tree.op_at
        words = {names.get(op_at[at], "").rpartition(".")[2] for at in places}
        return set() if any(not word.isidentifier() for word in words) else words

    def _grown(self, source: int) -> str:
        """Return the shape that the last copy gives, where the first copy, which is what is shown, gives another."""
        network, op_at = self.tree.network, self.tree.op_at
        last, shown = network.shapes[op_at[source]], network.shapes[op_at[self.trail.same[source]]]
        return "" if last == shown else f"last {shape_text(last)}".rstrip()

    def _path(self, copy: int) -> Path:
        known = self.paths.get(copy)
        if known is None:
            run, index, outer = self.trail.copies[copy]
            known = self.paths[copy] = (*self._path(outer), (run, index))
        return known

    def _outputs_of_one_call(self, reader: int, entered: Path) -> bool:
        """Whether the copies that a line enters are the outputs of one call, which reads it once."""
        branch = self.trail.branch[self.trail.item[reader]]
        if len(entered) > 1 or branch.op < 0 or not branch.others:
            return False
        made_by, op_at = self.tree.network.made_by, self.tree.op_at
        first = made_by[op_at[branch.first]]
        return first > 0 and all(made_by[op_at[start]] == first for start in branch.others)

    def _is_call(self, path: Path) -> bool:
        """Whether the copies that a line leaves are the outputs of one call."""
        return len(path) == 1 and is_one_call(self.tree, self.trail.stacks[path[0][0]])

    def _is_dense(self, path: Path) -> bool:
        """Whether the stack that a line enters says itself that each copy reads all before it."""
        return len(path) == 1 and self.trail.stacks[path[0][0]].dense

    def _outputs(self, path: Path, given: set[tuple[int, ...]]) -> str:
        """Return which outputs of one call a line carries."""
        total = self._count(path)
        if len(given) == total:
            return f"{total} outputs"
        return f"output {min(given)[0] + 1} of {total}" if len(given) == 1 else f"{len(given)} of {total} outputs"

    def _looped(self, path: Path) -> bool:
        return self.trail.looped[path[0][0]]

    def _count(self, path: Path) -> int:
        total = 1
        for run, _ in path:
            total *= self.sizes[run]
        return total

    def _is_last(self, path: Path, copies: set[tuple[int, ...]]) -> bool:
        return copies == {tuple([self.sizes[run] - 1 for run, _ in path])}

    def _is_first(self, path: Path, copies: set[tuple[int, ...]]) -> bool:
        return copies == {(0,) * len(path)}

    def _given(self, path: Path, copies: set[tuple[int, ...]], tensors: int) -> str:
        total = self._count(path)
        if len(copies) < total:
            return self._some(path, copies)
        if self._looped(path):
            return f"all {tensors} rounds"
        return f"all {total}" if tensors == total else f"all {total} copies"

    def _read(self, path: Path, copies: set[tuple[int, ...]], ties: list[_Tie]) -> str:
        total = self._count(path)
        if len(copies) < total:
            return self._some(path, copies)
        sources, pairs = {tie.source for tie in ties}, {(tie.source, tie.read) for tie in ties}
        if len(pairs) == len(sources) * total:
            return "every round" if self._looped(path) else f"{SAME} {total}"
        own = len(pairs) == len(sources) == total
        return ("one per " if own else "into every ") + ("round" if self._looped(path) else "copy")

    def _some(self, path: Path, copies: set[tuple[int, ...]]) -> str:
        one, several = ("round", "rounds") if self._looped(path) else ("copy", "copies")
        if self._is_last(path, copies):
            return f"last {one}"
        if self._is_first(path, copies):
            return f"first {one}"
        if len(copies) > 1 or len(path) > 1:
            return f"{len(copies)} of {self._count(path)} {several}"
        return f"{one} {min(copies)[0] + 1}"


def _in_pairs(pairs: set[tuple[tuple[int, ...], tuple[int, ...]]]) -> str:
    """Return how copies of one stack belong to copies of another."""
    ordered = sorted(pairs)
    given, read = [one for one, _ in ordered], [other for _, other in ordered]
    alone = len(set(given)) == len(pairs) == len(set(read))
    if alone and read == sorted(read):
        return ONE_EACH
    if alone and read == sorted(read, reverse=True):
        return f"×{len(pairs)}, in reverse"
    if len(pairs) == len(set(given)) * len(set(read)):
        return f"all {len(set(given))}, {SAME} {len(set(read))}"
    return f"×{len(pairs)}"
