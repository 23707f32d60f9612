"""What a drawing says, as plain lists of texts."""

from __future__ import annotations


def all_rows(drawing):
    """Return the lines of every node."""
    return [[row.text for row in node.rows] for node in drawing.scene.nodes()]


def rows_of(drawing, title):
    """Return the lines of every node with this first line."""
    return [rows for rows in all_rows(drawing) if rows[0] == title]


def titles(drawing, parts=None):
    """Return the title of every frame, or its first parts."""
    return [" ".join(part.text for part in box.title[:parts]) for box in drawing.scene.boxes()]
