"""Put the last results into `docs/performance.md`, between its markers.

uv run python benchmarks/page.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import peers
from rows import figure

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"


def measured(name: str) -> str:
    """Build the table of `overhead.py` or `pictures.py`."""
    document = json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))
    lines = ["| measure | network | value | bar | | |", "|---|---|---:|---:|---|---|"]
    last = ""
    for row in document["rows"]:
        measure = row["measure"] if row["measure"] != last else ""
        last = row["measure"]
        bar = "" if row["bar"] is None else figure(row["bar"])
        value = f"{figure(row['value'])} {row['unit']}"
        lines.append(f"| {measure} | {row['network']} | {value} | {bar} | {row['verdict']} | {row['note']} |")
    return "\n".join(lines)


def side_by_side() -> str:
    """Build the table of `peers.py`."""
    cells = json.loads((HERE / "results" / "peers.json").read_text(encoding="utf-8"))["cells"]
    titles = [peers.TOOLS[tool][0] for tool in cells]
    lines = [f"| network | {' | '.join(titles)} |", "|---|" + "---|" * len(titles)]
    for name, title in peers.TITLES.items():
        lines.append(f"| {title} | {' | '.join(peers.text(found[name]) for found in cells.values())} |")
    return "\n".join(lines)


def main() -> None:
    """Replace what stands between the markers."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {"overhead": measured("overhead"), "peers": side_by_side(), "pictures": measured("pictures")}
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        text = re.sub(f"{begin}.*?{end}", lambda _, t=table, b=begin, e=end: f"{b}\n{t}\n{e}", text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
