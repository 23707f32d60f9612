"""What a picture costs: layout, planning and drawing, each against its bar, beside Graphviz and the released torchlens.

    uv run python benchmarks/pictures.py [--quick] [--peers] [--page]

Times are CPU time of the process with garbage collection on, the best of three (one for 100,000 ops). The test network is made
of transformer blocks in stages with skips between mirrored stages: 14 ops a block, frames three deep. "Unlike" gives every
node a width of its own, so that no two frames are equal; "equal" lets equal frames be solved once. `--peers` also draws
ResNet-50 with torchlens 2.36.1 in an environment of its own, and runs `dot` on the same graphs with a limit of 100 s. `--page`
puts the figures into `docs/performance.md`.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time

import page
from rows import Row, show, write

from tl_viz import LIGHT, Box, Edge, Node, Scene, TextRow
from tl_viz._layout import lay_out
from tl_viz._network import Call, Network
from tl_viz._plan import make_plan
from tl_viz._write.dot import to_dot

HERE = Path(__file__).parent
RESULT = HERE / "results" / "pictures.json"
sys.path += [str(HERE.parent / "packages" / "tl-viz" / "tests" / "support"), str(HERE.parent / "docs")]
BLOCKS, BLOCK_OPS = 6, 14
LAYOUT_BARS = {1_000: (0.1, 0.02), 10_000: (1.2, 0.15), 100_000: (12.0, 1.5)}
PLAN_BARS = {10_000: 0.1, 100_000: 1.0}
DOT_LIMIT = 100.0
PEER = """
import json, sys, time, torch, torchvision, torchlens as tl
model = torchvision.models.resnet50().eval()
trace = tl.trace(model, torch.randn(1, 3, 64, 64))
best = 1e9
for _ in range(3):
    start = time.perf_counter()
    trace.draw(vis_mode="unrolled", collapse="auto", vis_save_only=True, vis_fileformat="svg", vis_outpath=sys.argv[1])
    best = min(best, time.perf_counter() - start)
print(json.dumps(best))
"""


class Builder:
    """Writes the test network down twice: as a scene with places to find, and as columns to plan."""

    def __init__(self, *, unlike: bool) -> None:
        self.unlike = unlike
        self.count = 0
        self.edges: dict[str, list[str]] = {}

    def node(self, name: str, *parents: str) -> Node:
        self.count += 1
        key = f"{name}_{self.count}"
        for parent in parents:
            self.edges.setdefault(parent, []).append(key)
        width = 120.0 + (self.count * 0.01 if self.unlike else 0)
        rows = (TextRow(text=name, bold=True), TextRow(text="(1, 64, 56, 56)", size=9.5, muted=True))
        return Node(key=key, role="op", rows=rows, width=width, height=36.0)

    def box(self, key: str, kind: str, *children: Node | Box) -> Box:
        title = (TextRow(text=key.rsplit("/", 1)[-1], bold=True), TextRow(text=kind, muted=True))
        return Box(key=key, role="module", title=title, children=children)

    def block(self, at: str, x: str) -> tuple[Box, str]:
        norm = self.node("layer_norm", x)
        heads = [self.node("linear", norm.key) for _ in range(3)]
        scores = self.node("matmul", heads[0].key, heads[1].key)
        soft = self.node("softmax", scores.key)
        mixed = self.node("matmul", soft.key, heads[2].key)
        out = self.node("linear", mixed.key)
        attention = self.box(f"{at}/attn", "Attention", *heads, scores, soft, mixed, out)
        first = self.node("add", x, out.key)
        other = self.node("layer_norm", first.key)
        steps = [self.node("linear", other.key)]
        for name in ("gelu", "linear"):
            steps.append(self.node(name, steps[-1].key))
        last = self.node("add", first.key, steps[-1].key)
        inner = (norm, attention, first, other, self.box(f"{at}/mlp", "MLP", *steps), last)
        return self.box(at, "Block", *inner), last.key


def scene(ops: int, *, unlike: bool) -> Scene:
    """Return the test network with about `ops` nodes."""
    make = Builder(unlike=unlike)
    stages = max(1, round(ops / (BLOCKS * BLOCK_OPS)))
    start = make.node("input")
    items: list[Node | Box] = [start]
    x, skips = start.key, []
    for stage in range(stages):
        inner: list[Node | Box] = []
        if stage >= stages // 2 and skips:
            joined = make.node("cat", x, skips.pop())
            inner.append(joined)
            x = joined.key
        for index in range(BLOCKS):
            box, x = make.block(f"s{stage}/b{index}", x)
            inner.append(box)
        items.append(make.box(f"s{stage}", "Stage", *inner))
        if stage < stages // 2:
            skips.append(x)
    items.append(make.node("output", x))
    edges = tuple(Edge(source=source, targets=tuple(dict.fromkeys(ends))) for source, ends in make.edges.items())
    return Scene(root=Box(key="", role="root", title=(), children=tuple(items)), edges=edges)


def columns(drawn: Scene) -> Network:
    """Return the network that a scene shows."""
    calls: list[Call] = []
    labels: list[str] = []
    homes: list[int] = []

    def walk(box: Box, home: int) -> None:
        for child in box.children:
            if isinstance(child, Node):
                labels.append(child.key)
                homes.append(home)
            else:
                address = child.key.replace("/", ".")
                calls.append(Call(address=address, number=1, class_name=child.title[1].text, parent=home))
                walk(child, len(calls) - 1)

    walk(drawn.root, -1)
    place = {label: op for op, label in enumerate(labels)}
    parents: list[list[int]] = [[] for _ in labels]
    for edge in drawn.edges:
        for target in edge.targets:
            parents[place[target]].append(place[edge.source])
    functions = [label.rpartition("_")[0] for label in labels]
    learned = [name in {"linear", "layer_norm"} for name in functions]
    return Network(
        name="Test", labels=labels, functions=functions, parents=[tuple(sources) for sources in parents],
        module_of=homes, calls=calls,
        roles=[name if name in {"input", "output"} else "op" for name in functions],
        shapes=[(1, 64, 56, 56)] * len(labels), params=[64 * one for one in learned], learned=learned,
        rounds=[1] * len(labels),
    )  # fmt: skip


def best(work, times: int = 3) -> float:
    """Return the least CPU time of several runs, in seconds."""
    found = []
    for _ in range(times):
        gc.collect()
        start = process_time()
        work()
        found.append(process_time() - start)
    return min(found)


def layouts(sizes: list[int], *, peers: bool) -> list[Row]:
    rows = []
    for ops in sizes:
        times = 1 if ops > 50_000 else 3
        unlike, equal = scene(ops, unlike=True), scene(ops, unlike=False)
        for name, drawn, bar in (("unlike", unlike, LAYOUT_BARS[ops][0]), ("equal", equal, LAYOUT_BARS[ops][1])):
            took = best(lambda drawn=drawn: lay_out(drawn), times)
            rows.append(Row(measure=f"layout, {name} blocks", network=f"{ops:,} ops", value=took, unit="s", bar=bar))
        if peers and shutil.which("dot") and ops <= 10_000:
            rows.append(dot(ops, equal))
    return rows


def dot(ops: int, drawn: Scene) -> Row:
    start = perf_counter()
    try:
        subprocess.run(
            ["dot", "-Tsvg"], input=to_dot(drawn, LIGHT, "topdown"), capture_output=True, text=True, check=True,
            timeout=DOT_LIMIT,
        )  # fmt: skip
        note = ""
    except subprocess.TimeoutExpired:
        note = f"killed after {DOT_LIMIT:.0f} s"
    took = perf_counter() - start
    return Row(measure="Graphviz dot, equal blocks", network=f"{ops:,} ops", value=took, unit="s", note=note)


def plans(sizes: list[int]) -> list[Row]:
    rows = []
    for ops in sizes:
        network = columns(scene(ops, unlike=False))
        times = 1 if ops > 50_000 else 3
        took = best(lambda network=network: make_plan(network, "auto", fold_repeats=True), times)
        rows.append(Row(measure="planning, auto", network=f"{ops:,} ops", value=took, unit="s", bar=PLAN_BARS[ops]))
    return rows


def drawings() -> list[Row]:
    """Time `trace.draw().svg` on traces that nobody has asked anything yet, less the plan; for the loop all of it."""
    from columns import DEFAULTS
    from gallery import trace

    from tl_viz._read import read

    rows = []
    for name, title in (("resnet50", "ResNet-50"), ("gpt2-12", "GPT-2, 12 layers"), ("gru-500", "GRU loop, 500 steps")):
        recorded = [trace(name) for _ in range(4)]
        fresh = iter(recorded[1:])
        network = read(recorded[0], DEFAULTS)
        plan = best(lambda network=network: make_plan(network, "auto", fold_repeats=True))
        whole = best(lambda fresh=fresh: next(fresh).draw().svg)
        looped = name == "gru-500"
        rows.append(
            Row(
                measure="draw to SVG" if looped else "draw to SVG, beyond the plan",
                network=title,
                value=whole if looped else max(0.0, whole - plan),
                unit="s",
                bar=0.1 if looped else 0.05,
                note=f"plan {plan:.3f} s, reading the trace included",
            )
        )
    items = recorded[0].draw().collapse_plan.items
    return [*rows, Row(measure="items", network="GRU loop, 500 steps", value=items, unit="", bar=8)]


def peak_mb() -> float:
    """Return the highest resident memory of this process so far, in MB; Linux only."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def memory() -> Row:
    """Return what laying out and writing 10,000 ops adds to the peak memory of a process."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pictures import peak_mb, scene; "
        "from tl_viz import LIGHT; from tl_viz._display import display; from tl_viz._layout import lay_out; "
        "from tl_viz._write.svg import to_svg; before = peak_mb(); drawn = scene(10_000, unlike=True); "
        "text = to_svg(display(drawn, lay_out(drawn), LIGHT)); print(peak_mb() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(HERE)], capture_output=True, text=True, check=True)
    return Row(
        measure="peak memory added, to SVG", network="10,000 ops", value=float(done.stdout), unit="MB", bar=150.0
    )


def released() -> Row:
    """Draw ResNet-50 with the released torchlens, in an environment that uv makes."""
    needs = ("torchlens==2.36.1", "torch", "torchvision", "graphviz")
    command = ["uv", "run", "--quiet", "--isolated", "--no-project", *(f"--with={need}" for need in needs), "python"]
    done = subprocess.run(
        [*command, "-c", PEER, "/tmp/tl-released-picture"], capture_output=True, text=True, check=False, timeout=900
    )
    took = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else float("nan")
    note = "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:60]
    return Row(measure="torchlens 2.36.1, draw to SVG", network="ResNet-50", value=took, unit="s", note=note)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="leave 100,000 ops out")
    options.add_argument("--peers", action="store_true", help="also run dot and the released torchlens")
    options.add_argument("--page", action="store_true", help="put the figures into docs/performance.md")
    wish = options.parse_args()
    sizes = [1_000, 10_000] if wish.quick else [1_000, 10_000, 100_000]
    rows = [*layouts(sizes, peers=wish.peers), *plans(sizes[1:]), *drawings(), memory()]
    if wish.peers:
        rows.append(released())
    show(rows, "Pictures")
    write(rows, RESULT, quick=wish.quick)
    if wish.page:
        page.main()


if __name__ == "__main__":
    main()
