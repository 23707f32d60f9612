"""What stands in a node and over a frame."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from tl_viz._compose.address import address_of, run_address
from tl_viz._compose.experts import experts_in
from tl_viz._compose.inside import inside, own_params
from tl_viz._compose.joined import DETAIL, TITLE, WIDEST, function_text, joined_lines
from tl_viz._compose.likeness import likeness_words
from tl_viz._compose.mask import is_mask
from tl_viz._compose.noun import noun_of
from tl_viz._compose.outlet import shapes_of, shapes_text
from tl_viz._compose.reader import reader_names
from tl_viz._compose.shared import shared_text
from tl_viz._compose.sums import calls_of, has_own, is_one_call, ops_text, params_of, params_text, rounds_of, shifts_of
from tl_viz._measure import SLOT_SIZE, shorten, text_width
from tl_viz._names import address_range, count, relative, summary
from tl_viz._plan import CONTAINERS, is_first_unlike
from tl_viz._scene import TextRow

if TYPE_CHECKING:
    from tl_viz._compose.around import Around
    from tl_viz._network import Network
    from tl_viz._plan import Branch, Likeness, Tree
    from tl_viz._scene import NodeRole

MOST_HOLDERS = 6
"""A piece of a module is named after what holds parameters in it where there are no more than so many."""
NAMED = 4
"""So many kinds of what is inside are named; the others are counted."""
PAD_X, PAD_Y, ROW_GAP = 10.0, 7.0, 3.0
NARROWEST = 56.0
PORT_ROOM = 8.0
"""How far apart the names of arguments stand at least."""
SLOT_PAD = 5.0
"""How much higher above and below its text a node is that names its arguments."""
BAR_PAD = 2.5
"""How much larger it is on each side where they stand behind a bar."""
PLUS_PAD = 7.0
"""How much more room a title has on each side in whose corner stands the sign of a closed box."""
ROUND_GAP = 3.0
"""Distance between a round end and the corner of a line of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Which lines a node has."""

    fields: tuple[str, ...] = ("name", "shape", "params")
    """Out of `name`, `shape`, `params`, `inside`, `ops`."""
    colour: str = ""
    """What the colours stand for, in the words of the user."""
    size: str = ""
    """What the sizes stand for."""


def box_size(
    rows: tuple[TextRow, ...], slots: dict[int, str] | None = None, *, role: NodeRole = "op", joins: bool = False
) -> tuple[float, float]:
    """Return the width and height of a node with these lines, and with the names of its arguments along its edge.

    Where branches join, the names stand behind a bar.
    """
    width = max([text_width(row.text, row.size, row.bold) for row in rows], default=0.0)
    height = sum(row.size for row in rows) + ROW_GAP * max(0, len(rows) - 1)
    pad_x, pad_y = PAD_X, PAD_Y
    if slots:
        letters = ",".join([text for text in slots.values() if not text.isdigit()])  # one line may carry several
        pad_x = max(PAD_X, 5 + max(text_width(text, SLOT_SIZE) for text in [letters, *slots.values()]))
        pad_x, pad_y = pad_x + joins * BAR_PAD, pad_y + SLOT_PAD + joins * BAR_PAD
    if role == "module":
        width = max(width, text_width(rows[0].text, rows[0].size, rows[0].bold) + 2 * PLUS_PAD)
    if role in {"input", "output"}:  # the corners of the first and the last line stay inside of the half circles
        radius = height / 2 + pad_y
        pad_x = max(pad_x, radius - sqrt(radius**2 - (height / 2) ** 2) + ROUND_GAP)
    beside = 2 * PORT_ROOM * len(slots) if slots else 0.0  # sideways, arguments stand below each other
    return max(NARROWEST, width + 2 * pad_x), max(height + 2 * pad_y, beside)


def _row(text: str, *, title: bool = False) -> TextRow:
    size = TITLE if title else DETAIL
    return TextRow(text=shorten(text, WIDEST, size, title), size=size, bold=title, muted=not title)


def node_rows(
    tree: Tree, branch: Branch, wishes: Wishes, around: Around, likeness: Likeness | None = None, joins: str = ""
) -> tuple[TextRow, ...]:
    """Return the lines of a closed branch or a leaf.

    Args:
        tree: the network.
        branch: what the node stands for.
        wishes: which lines are wanted.
        around: what stands around it.
        likeness: how it differs from an open module that it is nearly like.
        joins: which branches join inside of it.
    """
    network = tree.network
    if branch.kind == "bundle":
        return (
            _row(count(calls_of(tree, branch.first, branch.last_end), "op"), title=True),
            _row("that no output depends on"),
            _row(_fitting(inside(tree, branch), DETAIL, NAMED)),
        )
    title, kind = names(tree, branch, around)
    rows = [_row(title, title=True)]
    badge = badge_text(tree, branch, around=around.rounds)
    if kind:
        rows.append(_row(kind))
    if badge:
        rows.append(TextRow(text=badge, size=DETAIL, bold=True))
    if likeness is None:
        held = [line for line in _content(tree, branch) if line != title]
    else:
        held = _lines(likeness_words(tree, likeness, around.frame), ", ")
    if joins:
        held[-1:] = _lines([*held[-1:], joins])
    rows += [_row(line) for line in held]
    rows += [_row(line) for line in _lines(_facts(tree, branch, wishes.fields, around))]
    if branch.op >= 0 and network.roles[branch.op] == "stop":
        rows += [_row(network.places[branch.op])]
    if branch.op >= 0 and network.rows:
        rows += [_row(line) for line in network.rows[branch.op]]
    return tuple(rows)


def _content(tree: Tree, branch: Branch) -> list[str]:
    """Return what a node holds besides the op or module that gave it its name."""
    if branch.kind == "chain":
        return joined_lines(tree, branch)
    if branch.kind in {"op", "constants"}:
        return []
    network = tree.network
    own = [op for op in tree.op_at[branch.first : branch.end] if network.module_of[op] == branch.call]
    found = {network.details[op]: None for op in own if op in network.details}
    held = [
        _fitting(inside(tree, branch), DETAIL, NAMED) + (", first differs" if is_first_unlike(tree, branch) else "")
    ]
    held[:0] = _lines(own_params(tree, branch), ", ")
    return [*found, *held] if len(found) == 1 else held


def _fitting(words: list[str], size: float, most: int, *, bold: bool = False) -> str:
    """Return words as one line, as many of them as there is room for; the others are counted."""
    texts = [summary(words, most=number) for number in range(most, 0, -1)]
    return next((text for text in texts if text_width(text, size, bold) <= WIDEST), texts[-1])


def _lines(facts: list[str], between: str = " · ") -> list[str]:
    """Return facts in as few lines as they fit into."""
    lines: list[str] = []
    for fact in facts:
        longer = f"{lines[-1]}{between}{fact}" if lines else fact
        if lines and text_width(longer, DETAIL) <= WIDEST:
            lines[-1] = longer
        else:
            lines.append(fact)
    return lines


def _facts(tree: Tree, branch: Branch, wanted: tuple[str, ...], around: Around) -> list[str]:
    """Return what stands in the last lines of a node."""
    facts = [_shape(tree, branch, around) if "shape" in wanted else ""]
    if "params" in wanted:
        facts.append(params_text(tree, branch, around.shifts) or shared_text(tree, branch, around.frame))
    if branch.op < 0:
        facts.append(ops_text(tree, branch, around.copies))
    ops = tree.op_at[branch.first : branch.end]
    if ops and all(tree.fixed[op] for op in ops):
        sized = any(not tree.fixed[tree.op_at[at]] for at in branch.outside)
        facts += [
            "reads no input value" if sized or branch.op < 0 else "",
            "makes the mask" if is_mask(tree, branch) else "",
        ]
    return [fact for fact in facts if fact]


def names(tree: Tree, branch: Branch, around: Around) -> tuple[str, str]:
    """Return the name of a branch, relative to its frame, and what kind of thing it is."""
    network = tree.network
    if branch.op >= 0:
        return _leaf_names(network, branch, around, tree)
    if branch.kind == "module":
        call = network.calls[branch.call]
        held, kind = experts_in(network, call), call.class_name
        return address_of(tree, branch, around.frame, around.shifts), f"{kind} · {held} experts" if held else kind
    if branch.kind == "function":
        return f"{branch.name}()", ""
    if branch.kind == "constants":
        return summary([network.functions[child.op] for child in branch.children], most=3), ""
    items = [names(tree, child, around)[0] for child in branch.children]
    if branch.kind == "run" or len(set(items)) == 1:
        return summary(items, most=3), ""
    held = _holders(tree, branch, around.frame) if branch.kind == "segment" else []
    if 0 < len(held) <= MOST_HOLDERS:
        return _fitting(held, TITLE, MOST_HOLDERS, bold=True), ""
    return (f"{items[0]} … {items[-1]}" if len(items) > 1 else items[0]), ""


def _holders(tree: Tree, branch: Branch, frame: str) -> list[str]:
    """Return the modules and parameters in a branch that hold parameters, seen from its frame."""
    network = tree.network
    found: dict[str, None] = {}
    for at in range(branch.first, branch.end):
        op = tree.op_at[at]
        for address in network.weights.get(op, ()) if network.params[op] else ():
            parts = relative(address, frame).split(".")
            numbered = len(parts) > 2 and parts[1].isdigit()
            found[".".join(parts[: 2 if numbered else 1])] = None
    return list(found)


def _leaf_names(network: Network, branch: Branch, around: Around, tree: Tree) -> tuple[str, str]:
    role = network.roles[branch.op]
    if role == "stop":
        home = network.module_of[branch.op]
        where = f"{network.calls[home].address} · {network.calls[home].class_name}" if home >= 0 else network.name
        return network.functions[branch.op], f"the run ended in {where}"
    if role not in {"op", "hook"}:
        label = network.labels[branch.op]
        first = network.places.get(branch.op, label)
        last = network.places.get(tree.op_at[branch.others[-1]], first) if branch.others else first
        return address_range(first, last), "" if _says(first, role) else role
    detail = _detail(tree, branch, around)
    if branch.call >= 0:
        name, kind = address_of(tree, branch, around.frame, around.shifts), network.calls[branch.call].class_name
        if name == f"<{kind}>":  # a module that its owner does not register
            return kind, detail
        return name, f"{kind} · {detail}" if detail else kind
    name = function_text(tree, branch.op, around.last_of(branch))
    which = network.outputs.get(branch.op, "") if _has_siblings(tree, branch) else ""
    title, held = reader_names(tree, branch, around, f"{name} {which}" if which else name)
    if title == around.frame.rpartition(".")[2]:  # the function in a module of the same name
        title += "()"
    said = " · ".join([text for text in (held, detail) if text])
    return title, said if text_width(said, DETAIL) <= WIDEST else detail or said


def _detail(tree: Tree, branch: Branch, around: Around) -> str:
    """Return what the arguments of an op say about its size, where they say it of every copy; of some joins, what they are for."""
    details = tree.network.details
    if branch.op not in details:
        return tree.network.purposes.get(branch.op, "")
    at = tree.place[branch.op]
    found = {details.get(tree.op_at[at + shift]) for shift in shifts_of(branch, around.shifts)}
    return details[branch.op] if len(found) == 1 else ""


def _has_siblings(tree: Tree, branch: Branch) -> bool:
    """Whether outputs of the same call stand elsewhere."""
    made_by = tree.network.made_by
    if branch.copies > 1 or branch.op not in tree.network.outputs:
        return False
    call, first, end = made_by[branch.op], branch.op, branch.op + 1  # outputs of one call follow each other
    while first and made_by[first - 1] == call:
        first -= 1
    while end < len(made_by) and made_by[end] == call:
        end += 1
    return any(not branch.first <= tree.place[op] < branch.end for op in range(first, end))


def _says(place: str, role: str) -> bool:
    """Whether the name of an input, output, buffer or constant says already what it is: `output.logits`, `input_1`."""
    rest = place.removeprefix(role)
    return rest != place and (not rest or rest[0] == "." or (rest[0] == "_" and rest[1:].replace("_", "").isdigit()))


def badge_text(tree: Tree, branch: Branch, *, around: int = 1) -> str:
    """Return what says how often a branch is there: `×12`, `≈×6` or `×500 rounds`, with what it means.

    `around` is the number of passes that a frame around it speaks of already.
    """
    rounds = rounds_of(tree, branch)
    if branch.copies > 1:
        if is_one_call(tree, branch):
            return f"{branch.copies} outputs"
        if branch.op >= 0 and tree.network.roles[branch.op] in {"input", "output"}:
            return f"{branch.copies} tensors"
        if branch.looped:
            return f"×{branch.copies} rounds, same weights"
        own = " own weights" if has_own(tree, branch) else ""
        reads = ", each reads all before" if branch.dense else ""
        return f"{'' if branch.alike else '≈'}×{branch.copies}{own}{reads}"
    if rounds <= 1 or rounds == around:
        return ""
    return f"×{rounds} rounds, same weights" if params_of(tree, branch) else f"×{rounds} rounds"


def _shape(tree: Tree, branch: Branch, around: Around) -> str:
    """Return the shapes of what a branch gives away, as many as there is room for."""
    found = shapes_of(tree, branch, around.last_of(branch))
    text = shapes_text(found)
    return text if text_width(text, DETAIL) <= WIDEST else shapes_text(found, 1)


def frame_title(tree: Tree, branch: Branch, wishes: Wishes, around: Around) -> tuple[TextRow, ...]:
    """Return the parts of the title of an open branch: its name, how often it is there, and the parameters in it."""
    name, kind = names(tree, branch, around)
    parts: list[TextRow] = []
    badge = badge_text(tree, branch, around=around.rounds)
    if kind in CONTAINERS and len(branch.children) > 1:
        held = dict.fromkeys(words := inside(tree, branch))
        kind = f"{kind} of {summary(words, most=1)}" if len(held) == 1 else kind
    if branch.kind in {"module", "function"}:
        parts.append(TextRow(text=shorten(name, WIDEST, TITLE, bold=True), size=TITLE, bold=True))
        parts += [TextRow(text=kind, size=DETAIL + 0.5, muted=True)] if kind else []
    elif branch.kind == "segment":
        parts.append(TextRow(text=shorten(name, WIDEST, DETAIL), size=DETAIL, muted=True))
    elif branch.kind == "loop":
        parts.append(TextRow(text="loop", size=DETAIL + 0.5, muted=True))
    elif branch.kind == "run" and not branch.looped:
        text = run_address(tree, branch, around.frame)
        parts.append(TextRow(text=shorten(text, WIDEST, DETAIL), size=DETAIL, muted=True))
    if badge:
        parts.append(TextRow(text=badge, size=DETAIL + 0.5, bold=True))
    noun = noun_of(tree, branch, around.noun)
    params = params_text(tree, branch, around.shifts, noun) if "params" in wishes.fields else ""
    if params and branch.kind in {"module", "function", "run"}:
        parts.append(TextRow(text=params, size=DETAIL, muted=True))
    return tuple(parts)
