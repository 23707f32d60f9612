"""Draws TorchLens traces as SVG, HTML, DOT, PNG and PDF."""
