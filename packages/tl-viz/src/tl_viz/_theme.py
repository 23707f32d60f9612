"""Colours. A theme is plain data, so a user's own one is a `replace` away."""

from __future__ import annotations

from dataclasses import dataclass, field

from tl_viz._scene import NodeRole

Paint = tuple[str, str]
"""Fill and stroke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """The colours of a picture, as `#rrggbb`."""

    name: str
    background: str
    """Behind everything; an empty string leaves it transparent."""
    text: str
    muted: str
    """Secondary text."""
    line: str
    """Tensors."""
    loop: str
    """Tensors that a loop carries to its next round."""
    faint: str
    """Tensors that no output needs."""
    frame: str
    """Stroke of frames."""
    fills: tuple[str, ...]
    """Fill of frames by depth, the last one repeated."""
    run: str
    """Stroke and badge of folded runs."""
    mark: str
    """Stroke of highlighted items."""
    nodes: dict[NodeRole, Paint] = field(default_factory=dict[NodeRole, Paint])
    learned: Paint = ("", "")
    """Fill and stroke of what holds parameters."""
    scale: tuple[str, str] = ("#f7fbff", "#2171b5")
    """Colours of the lowest and the highest value under `color_by=`."""


LIGHT = Theme(
    name="light",
    background="#ffffff",
    text="#1f2933",
    muted="#5b6b7b",
    line="#52606d",
    loop="#b4540a",
    faint="#b8c2cc",
    frame="#9fb1c4",
    fills=("#f5f8fb", "#ebf1f7", "#e2eaf3"),
    run="#6d4fc2",
    mark="#d6336c",
    nodes={
        "op": ("#ffffff", "#8696a7"),
        "module": ("#ffffff", "#5b6b7b"),
        "input": ("#e3f5e6", "#3c8d52"),
        "output": ("#e3f5e6", "#3c8d52"),
        "buffer": ("#eef0f3", "#9aa5b1"),
        "constant": ("#eef0f3", "#9aa5b1"),
        "bundle": ("#fafbfc", "#b8c2cc"),
        "hook": ("#fde8ef", "#d6336c"),
        "stop": ("#fdecea", "#c62828"),
    },
    learned=("#fff1d6", "#c98a1b"),
)

DARK = Theme(
    name="dark",
    background="#14181d",
    text="#e6edf3",
    muted="#9fb0c0",
    line="#8fa1b3",
    loop="#ffa657",
    faint="#46525e",
    frame="#3d4a57",
    fills=("#1a2027", "#20272f", "#262e38"),
    run="#b39dfa",
    mark="#ff6b9d",
    nodes={
        "op": ("#2a333d", "#66788a"),
        "module": ("#2a333d", "#8fa1b3"),
        "input": ("#173d25", "#4fb36e"),
        "output": ("#173d25", "#4fb36e"),
        "buffer": ("#22282f", "#5b6b7b"),
        "constant": ("#22282f", "#5b6b7b"),
        "bundle": ("#181d23", "#46525e"),
        "hook": ("#4a1f2f", "#ff6b9d"),
        "stop": ("#4d1f1c", "#ff8a80"),
    },
    learned=("#4a3a16", "#e0a93b"),
    scale=("#22303d", "#58a6ff"),
)

PAPER = Theme(
    name="paper",
    background="",
    text="#000000",
    muted="#444444",
    line="#000000",
    loop="#000000",
    faint="#999999",
    frame="#777777",
    fills=("#ffffff", "#f7f7f7", "#efefef"),
    run="#000000",
    mark="#000000",
    nodes={
        "op": ("#ffffff", "#333333"),
        "module": ("#ffffff", "#000000"),
        "input": ("#ffffff", "#000000"),
        "output": ("#ffffff", "#000000"),
        "buffer": ("#ffffff", "#888888"),
        "constant": ("#ffffff", "#888888"),
        "bundle": ("#ffffff", "#999999"),
        "hook": ("#ffffff", "#000000"),
        "stop": ("#ffffff", "#000000"),
    },
    learned=("#dddddd", "#000000"),
    scale=("#ffffff", "#888888"),
)

THEMES = {theme.name: theme for theme in (LIGHT, DARK, PAPER)}
"""The themes that `theme=` takes by name."""


def blend(low: str, high: str, share: float) -> str:
    """Return the colour that lies `share` of the way from `low` to `high`.

    Example:
        >>> blend("#000000", "#ffffff", 0.5)
        '#808080'
    """
    parts = [round(int(low[at : at + 2], 16) * (1 - share) + int(high[at : at + 2], 16) * share) for at in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)
