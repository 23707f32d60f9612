"""`draw`: from a trace to a picture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tl_core import ArgumentTypeError, Selector, Trace
from tl_viz._compose import compose
from tl_viz._compose.label import Wishes
from tl_viz._display import display
from tl_viz._drawing import CollapsePlan, Drawing
from tl_viz._focus import focus, place_of
from tl_viz._graphviz import DotFailedError, lay_out_by_dot
from tl_viz._hooks import show_hooks
from tl_viz._keyword import known_keywords
from tl_viz._layout import Direction, Geometry, lay_out
from tl_viz._legend import attach_legend
from tl_viz._options import (
    CodePanel,
    InterventionMode,
    Layout,
    Measure,
    Options,
    View,
    check_collapse,
    check_depth,
    check_label,
    check_panel,
    check_seconds,
    check_selector,
    check_theme,
)
from tl_viz._panel import Panel, attach_panel, read_panel
from tl_viz._plan import Collapse, Plan, judge, make_plan
from tl_viz._read import nothing_highlighted, read
from tl_viz._warn import warn_user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_viz._network import Network
    from tl_viz._scene import Node, Scene
    from tl_viz._theme import Theme

LARGE_NODES, LARGE_EDGES = 10_000, 40_000
"""A picture with more than this takes Graphviz minutes and gigabytes."""


@known_keywords
def draw(  # noqa: PLR0913 - one option each; every one is a keyword
    trace: Trace,
    *,
    collapse: Collapse = "auto",
    view: View = "rolled",
    depth: int | None = None,
    module: str | None = None,
    layout: Layout = "auto",
    direction: Direction = "topdown",
    fold_repeats: bool | None = None,
    show_containers: bool = True,
    show_orphans: bool = False,
    show_buffers: bool = False,
    intervention_mode: InterventionMode = "node_mark",
    code_panel: CodePanel = False,
    color_by: Measure | None = None,
    size_by: Measure | None = None,
    label: Sequence[str] = ("name", "shape", "params"),
    highlight: Selector | None = None,
    theme: str | Theme = "light",
    deadline_s: float = 20.0,
    planner_budget: float | None = None,
) -> Drawing:
    """Draw the graph of a trace.

    Args:
        trace: what to draw; it is only read, and no saved value is looked at.
        collapse: `auto` chooses what to open so that 12 to 40 items show as much as they can; `none` opens everything;
            `max` closes what can be closed; a number from 0 to 1 goes from `none` to `max` in nested steps.
        view: `rolled` draws a place of the model that ran several times once; `unrolled` draws every pass.
        depth: modules nested deeper than this many levels stay closed.
        module: draw only what ran in this module: an address such as `layer1.0`, or one call of it, `layer1.0:2`,
            whose passes are not rolled up.
        layout: `auto` and `rank` are the engine of this package; `dot` is the system's Graphviz, if it is there.
        direction: which way the tensors flow: `topdown`, `bottomup`, `leftright` or `rightleft`.
        fold_repeats: draw runs of equal neighbours once, as `×12` (own weights) or `×500 rounds` (same weights). By default where
            something is collapsed.
        show_containers: draw frames around what open modules hold.
        show_orphans: also draw ops that neither an input nor an output is connected to.
        show_buffers: also draw buffers and constants as nodes of their own.
        intervention_mode: `node_mark` outlines edited ops; `as_node` puts a node of its own behind each.
        code_panel: set the user's source beside the graph: `True` or `forward` for the functions in which ops were called,
            `class` for their classes, `init+forward`, or a function of the trace that returns a text.
        color_by: colour nodes by a number of each op: `flops`, `time`, `bytes`, an attribute such as `cost.macs`, a function of
            the op, or a mapping from labels. What stands for several ops has their sum.
        size_by: size nodes by such a number.
        label: what nodes say: `name`, `shape`, `params`, and any attribute of an op, such as `dtype`.
        highlight: outline the ops that this selector means, and keep them visible.
        theme: `light`, `dark`, `paper`, or a `Theme`.
        deadline_s: how many seconds Graphviz may take under `layout="dot"` before our engine takes over.
        planner_budget: refuse to plan what an old rule of thumb predicts to take more milliseconds than this, and draw the
            coarsest picture instead. By default everything is planned.

    Returns:
        The picture; nothing is written or opened.

    Raises:
        ConfigurationError: an option has a value that is no choice; the message names the choices.
        ArgumentTypeError: there is no option of that name, an option has a value of the wrong type, or `trace` is no trace.
        LookupFailedError: there is no module or call of that name, no op ran in it, or `highlight=` means nothing that is drawn.

    Example:
        >>> drawing = trace.draw(collapse="auto")  # doctest: +SKIP
        >>> drawing.save("network.svg")  # doctest: +SKIP
    """
    if not isinstance(trace, Trace):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ArgumentTypeError(
            f"draw() was given {type(trace).__name__}, which is no trace.",
            code="not_a_trace",
            remedy="write tl.draw(tl.trace(model, x))",
            given=type(trace).__name__,
        )
    level = check_collapse(collapse)
    options = Options(
        collapse=level,
        view=view,
        depth=check_depth(depth),
        module=module,
        layout=layout,
        direction=direction,
        fold_repeats=level not in {"none", 0.0} if fold_repeats is None else fold_repeats,
        show_containers=show_containers,
        show_orphans=show_orphans,
        show_buffers=show_buffers,
        intervention_mode=intervention_mode,
        code_panel=check_panel(code_panel),
        color_by=color_by,
        size_by=size_by,
        label=check_label(label),
        highlight=check_selector(highlight),
        theme=check_theme(theme),
        deadline_s=check_seconds("deadline_s", deadline_s),
        planner_budget=None if planner_budget is None else check_seconds("planner_budget", planner_budget),
    )
    return _draw(trace, options)


def _draw(trace: Trace, options: Options) -> Drawing:
    place = None if options.module is None else place_of(trace, options.module)
    if place is not None and place.number is not None:
        options = replace(options, view="unrolled")  # rolled up, the calls of a module are one
    network = read(trace, options)
    if options.intervention_mode == "as_node":
        network = show_hooks(network, network.edited)
    if place is not None and place.address:
        network = focus(network, place)
        if options.highlight is not None and not network.marked:
            raise nothing_highlighted(options.highlight, [op.label for op in trace.find(options.highlight)])
    panel = read_panel(trace, options.code_panel)
    return picture(network, options, panel)


def picture(network: Network, options: Options, panel: Panel | None = None) -> Drawing:
    """Return the picture of a network that has been read."""
    verdict = None
    if options.planner_budget is not None and options.collapse not in {"none", 0.0}:
        verdict = judge(network, options.planner_budget, options.depth)
    level = options.collapse if verdict is None else "max"
    plan = make_plan(network, level, fold_repeats=options.fold_repeats, depth=options.depth)
    if verdict is not None:
        plan = replace(plan, planner="linear_fallback")
        warn_user(verdict.message, verdict.code)
    colour, size = (wish if isinstance(wish, str) else "" for wish in (options.color_by, options.size_by))
    wishes = Wishes(fields=options.label, colour=colour, size=size)
    scene = compose(plan, options.theme, wishes, frames=options.show_containers)
    scene, geometry = _lay_out(scene, options)
    shown = display(scene, geometry, options.theme, title=network.title or network.name, direction=options.direction)
    shown = attach_legend(shown, scene, options.theme, options.direction)
    if panel is not None:
        shown = attach_panel(shown, panel, scene, network, options.theme)
    skipped = verdict is not None and verdict.code == "collapse_pathological_skip"
    summary = None if skipped else _summary(plan, scene, options)
    return Drawing(scene, geometry, shown, options.theme, summary, options.direction)


def _lay_out(scene: Scene, options: Options) -> tuple[Scene, Geometry]:
    if options.layout != "dot":
        return scene, lay_out(scene, direction=options.direction)
    nodes, lines = sum(1 for _ in scene.nodes()), sum(len(edge.targets) for edge in scene.edges)
    if nodes > LARGE_NODES or lines > LARGE_EDGES:
        warn_user(
            f"draw(layout='dot') of {nodes:,} nodes and {lines:,} edges can take Graphviz minutes and gigabytes. "
            "What to do: collapse='auto', module=..., or layout='auto'.",
            "graphviz_large_graph",
        )
    try:
        geometry = lay_out_by_dot(scene, options.theme, options.direction, deadline_s=options.deadline_s)
    except DotFailedError as error:
        warn_user(
            f"draw(layout='dot'): {error}, so the picture has the places of TorchLens' own layout.",
            "dot_layout_unavailable",
        )
        scene = replace(scene, notes=(*scene.notes, f"laid out without dot: {error}"))
        return scene, lay_out(scene, direction=options.direction)
    return scene, geometry


def _summary(plan: Plan, scene: Scene, options: Options) -> CollapsePlan:
    network = plan.tree.network
    single = [node for node in scene.nodes() if node.ops == 1 and node.copies == 1]
    missing = sum(network.unseen.values())
    mode = options.collapse if isinstance(options.collapse, str) else f"{options.collapse:g}"
    nodes: list[Node] = list(scene.nodes())
    return CollapsePlan(
        mode=mode,
        planner=plan.planner,
        items=len(nodes),
        shown=len(single),
        hidden=network.total_ops - len(single) + missing,
        open=tuple(box.key for box in scene.boxes()),
        closed=tuple(node.key for node in nodes if node.ops > 1),
        unseen=dict(network.unseen),
    )
