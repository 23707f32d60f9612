"""The legend under a picture: a sample and a few words for each sign that the picture uses, and for no other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tl_viz._display import (
    BESIDE,
    MARGIN,
    SAMPLE_HEIGHT,
    SAMPLE_WIDTH,
    Bar,
    Display,
    Group,
    Shape,
    Stroke,
    Words,
    join_sample,
    plus,
)
from tl_viz._measure import text_width
from tl_viz._scene import Box, Node, walk

if TYPE_CHECKING:
    from tl_viz._layout import Direction
    from tl_viz._scene import Scene
    from tl_viz._theme import Theme

SIZE = 9.0
ROW = 15.0
SHEET = 2.0
APART = 16.0
"""Distance from the words of a sample to the next sample."""

MOST_ROWS = 3
"""A picture that is too narrow for its legend in so many rows becomes wider."""

STEP = 12.0
PLAIN = frozenset({"arguments", "tied", "inside"})
"""Signs whose sample is written like a fact in a box, and not like a badge."""

INSIDE = ("joins: ", "joins each round: ")
"""How a fact in a closed box begins that says what joins inside of it."""

COUNTED = re.compile(r"[\d,…]+ tensors(, )?")
ATTENTION = {"q": "query", "k": "key", "v": "value", "m": "mask"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One sign that a picture uses."""

    key: str
    """What it is called, the same in every picture."""
    meaning: str
    """What it means, in a few words."""
    sample: str = ""
    """Text of the sample; empty where it is drawn."""

    @property
    def sample_width(self) -> float:
        """Width of the sample in pixels."""
        return text_width(self.sample, SIZE, bold=self.key not in PLAIN) if self.sample else SAMPLE_WIDTH

    @property
    def width(self) -> float:
        """Width of the sample and its words in pixels."""
        return self.sample_width + BESIDE + text_width(self.meaning, SIZE)


def attach_legend(shown: Display, scene: Scene, theme: Theme, direction: Direction = "topdown") -> Display:
    """Return the picture with a legend at its foot, or as it is where it uses no sign."""
    signs = signs_of(shown, scene)
    if not signs:
        return shown
    rows, width = _rows(signs, shown.width - 2 * MARGIN)
    groups: list[Group] = []
    y = shown.height + SAMPLE_HEIGHT / 2
    for row in rows:
        x = MARGIN
        for sign in row:
            words = Words(
                x + sign.sample_width + BESIDE, y + SIZE * 0.36, sign.meaning, SIZE, False, theme.muted,
                text_width(sign.meaning, SIZE),
            )  # fmt: skip
            groups.append(Group(f"legend-{sign.key}", "legend", (*_sample(sign, x, y, theme, direction), words)))
            x += sign.width + APART
        y += ROW
    return replace(
        shown,
        width=max(shown.width, width + 2 * MARGIN),
        height=y,
        groups=(*shown.groups, *groups),
    )


def signs_of(shown: Display, scene: Scene) -> list[Sign]:
    """Return the signs that a picture uses."""
    items = list(walk(scene.root))
    nodes = [item for item in items if isinstance(item, Node)]
    boxes = [item for item in items if isinstance(item, Box)]
    return [*_of_items(nodes, boxes), *_of_badges(nodes, boxes), *_of_facts(nodes), *_of_lines(shown, scene, nodes)]


def _of_items(nodes: list[Node], boxes: list[Box]) -> list[Sign]:
    signs: list[Sign] = []
    if any(node.learned and not node.tint for node in nodes):
        signs.append(Sign(key="tinted", meaning="has parameters"))
    held = [role for role in ("buffer", "constant") if any(node.role == role for node in nodes)]
    kinds = {node.joins for node in nodes}
    if "branches" in kinds:
        signs.append(Sign(key="joins", meaning="branches join; a parameter is no branch"))
    if "branch" in kinds:
        signs.append(Sign(key="one", meaning="no branches: a tensor's own parts or sums, masks, parameters"))
    if any(node.role == "module" and not node.marked for node in nodes):
        signs.append(Sign(key="closed", meaning="closed, more inside"))
    if any(item.copies > 1 for item in (*nodes, *boxes)):
        signs.append(Sign(key="stack", meaning="several alike, drawn once"))
    if any(node.marked for node in nodes):
        signs.append(Sign(key="marked", meaning="highlighted or edited"))
    if any(node.role == "hook" for node in nodes):
        signs.append(Sign(key="hook", meaning="an edit of the run"))
    if held:
        signs.append(Sign(key="held", meaning=" or ".join(held)))
    if any(box.role == "segment" for box in boxes):
        signs.append(Sign(key="piece", meaning="a piece of a long row"))
    return signs


def _of_badges(nodes: list[Node], boxes: list[Box]) -> list[Sign]:
    texts = [row.text for node in nodes for row in node.rows if row.bold]
    texts += [part.text for box in boxes for part in box.title if part.bold]
    rounds = [text for text in texts if text[:1] == "×" and "round" in text]
    copies = [text for text in texts if text[:1] == "×" and "round" not in text]
    signs: list[Sign] = []
    if copies:
        own = any("own weights" in text for text in copies)
        signs.append(Sign(key="copies", meaning="N copies" + (", own weights each" if own else ""), sample="×N"))
    if any(text[:1] == "≈" for text in texts):
        signs.append(Sign(key="near", meaning="N copies of sizes a…b, first to last", sample="≈×N"))
    if rounds:
        same = any("same weights" in text for text in rounds)
        meaning = "a loop, run N times" + (" with the same weights" if same else "")
        signs.append(Sign(key="rounds", meaning=meaning, sample="×N rounds"))
    return signs


def _of_facts(nodes: list[Node]) -> list[Sign]:
    """Return the signs of joins inside of a closed box, and of a parameter that another module holds: `= transformer.wte.weight`."""
    signs: list[Sign] = []
    facts = {fact for node in nodes for row in node.rows for fact in row.text.split(" · ")}
    if any(fact.startswith(INSIDE) for fact in facts):
        signs.append(Sign(key="inside", meaning="branches join inside of it", sample="joins: name"))
    if any(fact.startswith("= ") for fact in facts):
        signs.append(Sign(key="tied", meaning="same parameter as, counted there", sample="= name"))
    return signs


def _of_lines(shown: Display, scene: Scene, nodes: list[Node]) -> list[Sign]:
    signs: list[Sign] = []
    roles = {edge.role for edge in scene.edges}
    if "loop" in roles:
        signs.append(Sign(key="carried", meaning="to the next round"))
    if any(node.role == "bundle" for node in nodes):
        signs.append(Sign(key="dead", meaning="reaches no output"))
    elif "faint" in roles:
        signs.append(Sign(key="faint", meaning="reaches no output"))
    written = [shape for group in shown.groups if group.kind == "slot" for shape in group.shapes]
    words = [shape for shape in written if isinstance(shape, Words)]
    ends = {one.text for one in words if one.bold}
    numbers = [text.partition(", ")[0] for text in ends if COUNTED.match(text)]
    if numbers:
        sample = min(numbers, key=lambda text: (len(text), text))
        signs.append(Sign(key="tensors", meaning="at a line: it carries so many", sample=sample))
    parts = {text for text in ends if text.endswith(" parts")}
    if parts:
        signs.append(Sign(key="parts", meaning="at a line: so many parts of it meet", sample=min(parts)))
    ends = {COUNTED.sub("", text) for text in ends - parts} - {""}
    if ends:
        signs.append(_ends(ends))
    arguments = {part for one in words if not one.bold for part in one.text.split(",")}
    if arguments:
        signs.append(_arguments(arguments))
    strokes = [shape for group in shown.groups for shape in group.shapes if isinstance(shape, Stroke)]
    if any(any(stroke.hops) for stroke in strokes):
        signs.append(Sign(key="bridge", meaning="lines cross, not join"))
    return signs


def _ends(texts: set[str]) -> Sign:
    """Return the sign of the words at lines; outputs of one call are no copies, and are not what it shows of them."""
    copies = {text for text in texts if "output" not in text}
    sample = min(copies or texts, key=lambda text: (len(text), text))
    return Sign(key="ends", meaning=f"at a line: which {'copies or rounds' if copies else 'outputs'}", sample=sample)


def _arguments(used: set[str]) -> Sign:
    """Return the sign of the names of arguments, with samples of what is used; letters of attention are spelled out."""
    numbers = sorted([text for text in used if text.isdigit()], key=int)[:2]
    letters = [text for text in ATTENTION if text in used] if {"q", "k", "v"} <= used else []
    meaning = "at an arrow: which argument" + (
        ": " + ", ".join([ATTENTION[text] for text in letters]) if letters else ""
    )
    sample = " ".join([*numbers, *letters]) or min(used)
    return Sign(key="arguments", meaning=meaning, sample=sample)


def _rows(signs: list[Sign], width: float) -> tuple[list[list[Sign]], float]:
    """Return the signs in rows of at most `width`, made wider where there would be too many, and that width."""
    width = max(width, *[sign.width for sign in signs])
    while True:
        rows: list[list[Sign]] = []
        used = 0.0
        for sign in signs:
            if rows and used + APART + sign.width <= width:
                rows[-1].append(sign)
                used += APART + sign.width
            else:
                rows.append([sign])
                used = sign.width
        if len(rows) <= MOST_ROWS:
            return rows, width
        width += STEP


def _sample(sign: Sign, x: float, y: float, theme: Theme, direction: Direction) -> list[Shape]:
    """Return the shapes of a sample; `y` is its middle."""
    if sign.sample:
        bold = sign.key not in PLAIN
        colour = theme.run if bold else theme.muted
        return [Words(x, y + SIZE * 0.36, sign.sample, SIZE, bold, colour, sign.sample_width)]
    if sign.key in {"carried", "faint", "bridge"}:
        return _line_sample(sign.key, x, y, theme)
    if sign.key in {"joins", "one"}:
        return join_sample(x, y, theme, direction, "branches" if sign.key == "joins" else "branch")
    boxes = _box_sample(sign.key, x, y, theme)
    if sign.key == "closed":
        fill, stroke = theme.nodes["module"]
        return [*boxes, *plus(x + SAMPLE_WIDTH - SAMPLE_HEIGHT / 2, y, stroke, fill, 3.0)]
    return boxes


def _line_sample(key: str, x: float, y: float, theme: Theme) -> list[Shape]:
    end = x + SAMPLE_WIDTH
    if key == "carried":
        return [Stroke((((x, y), (end, y)),), (True,), theme.loop, 1.6)]
    if key == "faint":
        return [Stroke((((x, y), (end, y)),), (True,), theme.faint, dashed=True)]
    middle = x + SAMPLE_WIDTH / 2
    upright = Stroke((((middle, y - SAMPLE_HEIGHT / 2), (middle, y + SAMPLE_HEIGHT / 2)),), (False,), theme.line)
    return [upright, Stroke((((x, y), (end, y)),), (False,), theme.line, hops=(((middle, y),),))]


def _box_sample(key: str, x: float, y: float, theme: Theme) -> list[Shape]:
    nodes = theme.nodes
    paints = {
        "tinted": (*theme.learned, 1.0),
        "closed": (*nodes["module"], 1.0),
        "stack": (nodes["op"][0], theme.run, 0.8),
        "marked": (nodes["op"][0], theme.mark, 2.2),
        "hook": (*nodes["hook"], 1.0),
        "held": (*nodes["constant"], 1.0),
        "piece": (theme.fills[0], theme.frame, 1.0),
        "dead": (*nodes["bundle"], 1.0),
    }
    fill, stroke, width = paints[key]
    sheets = (2 * SHEET, SHEET, 0.0) if key == "stack" else (0.0,)
    less = sheets[0]
    return [
        Bar(
            x + shift, y - SAMPLE_HEIGHT / 2 + shift - less / 2, SAMPLE_WIDTH - less, SAMPLE_HEIGHT - less / 2, 2.0, fill,
            stroke, width, key in {"held", "piece", "dead"},
        )
        for shift in sheets
    ]  # fmt: skip
