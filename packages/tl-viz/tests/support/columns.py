"""Networks of the gallery as files, so that they can be planned and drawn without a framework.

`python packages/tl-viz/tests/support/columns.py` records them anew from `docs/gallery.py`.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tl_viz._layout import Direction  # noqa: F401 - resolved by Options
from tl_viz._network import Call, Network
from tl_viz._options import Options
from tl_viz._theme import LIGHT

FOLDER = Path(__file__).parents[1] / "golden" / "networks"
DEFAULTS = Options(
    collapse="auto", view="rolled", depth=None, module=None, layout="auto", direction="topdown", fold_repeats=True,
    show_containers=True, show_orphans=False, show_buffers=False, intervention_mode="node_mark", code_panel=False,
    color_by=None, size_by=None, label=("name", "shape", "params"), highlight=None, theme=LIGHT, deadline_s=20.0,
)  # fmt: skip


def names():
    """Names of the recorded networks."""
    return sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


def load(name):
    """Return a recorded network."""
    fields = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    fields["calls"] = [Call(**call | {"within": tuple(call["within"])}) for call in fields["calls"]]
    fields["parents"] = [tuple(parents) for parents in fields["parents"]]
    fields["shapes"] = [None if shape is None else tuple(shape) for shape in fields["shapes"]]
    fields["back"] = {int(op): tuple(sources) for op, sources in fields["back"].items()}
    fields["places"] = {int(op): place for op, place in fields["places"].items()}
    fields["weights"] = {int(op): tuple(names) for op, names in fields["weights"].items()}
    fields["extents"] = {name: tuple(shape) for name, shape in fields["extents"].items()}
    fields["within"] = {int(op): tuple(path) for op, path in fields["within"].items()}
    for column in ("outputs", "indices", "details", "joins", "purposes"):
        fields[column] = {int(op): found for op, found in fields[column].items()}
    fields["apart"] = frozenset(fields["apart"])
    fields["slots"] = {
        int(op): {int(parent): text for parent, text in slots.items()} for op, slots in fields["slots"].items()
    }
    fields["turns"] = {
        int(op): {int(parent): text for parent, text in turns.items()} for op, turns in fields.get("turns", {}).items()
    }
    return Network(**fields)


def store(name, network):
    """Write a network, without what is only said on hover."""
    fields = asdict(network)
    fields["apart"] = sorted(fields["apart"])
    for column in (
        "tips",
        "links",
        "rows",
        "owners",
        "tints",
        "sizes",
        "pinned",
        "marked",
        "edited",
        "ending",
        "islands",
    ):
        del fields[column]
    text = json.dumps(fields, separators=(",", ":")).encode()
    (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text, mtime=0))


def record():
    """Record every network of the gallery."""
    sys.path.insert(0, str(Path(__file__).parents[4] / "docs"))
    from gallery import NETWORKS, trace

    from tl_viz._read import read

    for name in NETWORKS:
        store(name, read(trace(name), DEFAULTS))


if __name__ == "__main__":
    record()
