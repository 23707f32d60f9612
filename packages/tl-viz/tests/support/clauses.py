"""Reads what a picture says of joins, and counts how many that are in the network itself."""

from __future__ import annotations

import re


def alive(network, left_out):
    """Return the module calls in which an op stands."""
    found = set()
    for op, call in enumerate(network.module_of):
        while call >= 0 and op not in left_out:
            found.add(call)
            call = network.calls[call].parent
    return found


def instances(network, name, left_out):
    """Return how many modules of a class there are, or calls of a function: the lines that call it, in every module."""
    if not name.endswith("()"):
        return sum(network.calls[call].class_name == name for call in alive(network, left_out))
    found = set()
    for op, path in network.within.items():
        for depth, part in enumerate(path):
            if part.partition(":")[0] == name[:-2]:
                found.add((network.module_of[op], path[: depth + 1]))
    return len(found)


def holders(network, name, holder, left_out):
    """Return how many modules there are of a class in each module of another class that is the next around any of them."""
    containers = {"Sequential", "ModuleList", "ModuleDict"}
    found = {}
    for at in alive(network, left_out):
        call = network.calls[at]
        if call.class_name == name:
            above = call.parent
            while above >= 0 and holder not in containers and network.calls[above].class_name in containers:
                above = network.calls[above].parent
            if above >= 0 and network.calls[above].class_name == holder:
                found[above] = found.get(above, 0) + 1
    return list(found.values())


def places(network, place, left_out):
    """Return how many places are meant: `each A, B`, `each of the 4 steps of C`, `all but the first A of each B`, `2 of 3 A`, addresses."""
    if found := re.fullmatch(r"(?:each of the )?([\d,]+) (?:steps )?of .*", place):
        return int(found[1])
    if found := re.fullmatch(r"(each|(?:all but )?the (?:first|last)) (\S+)(?: of (?:each )?(\S+))?", place):
        rule, name, holder = found.groups()
        held = holders(network, name, holder, left_out) if holder else [instances(network, name, left_out)]
        return sum(held) if rule == "each" else sum(held) - len(held) if "but" in rule else len(held)
    if found := re.fullmatch(r"all (\S+) but (.*)", place):
        return instances(network, found[1], left_out) - found[2].count(", ") - 1
    if place.startswith("each "):
        return sum(instances(network, name, left_out) for name in place.removeprefix("each ").split(", "))
    return place.count(", ") + 1


def number(joins):
    """Return how many joins are named: 9 of `add ×2, mul and 6 more`."""
    if joins.endswith(" times"):
        return int(joins.removesuffix(" times"))
    named, _, more = joins.partition(" and ")
    each = [int(part.partition(" ×")[2] or 1) for part in named.split(", ")]
    return sum(each) + int(more.removesuffix(" more") or 0)


def told(network, clause, left_out=frozenset()):
    """Return how many joins a clause tells of, where some ops are left out."""
    if more := re.fullmatch(r"and ([\d,]+) more", clause):
        return int(more[1].replace(",", ""))
    clause = clause.replace(" at the end of ", " in ")
    if found := re.fullmatch(r"in (.*?): (.*)", clause):
        return _parts(found[2]) * places(network, found[1], left_out)
    if re.search(r" before its loop| after it", clause):
        return _parts(clause)
    joins, _, where = clause.partition(" in ")
    some, of, place = re.fullmatch(r"(?:(\S+) of (\d+) rounds(?: of |$))?(.*)", where).groups()
    total = number(joins) * (1 if some is None else int(of) if some == "each" else int(some))
    return total * places(network, place, left_out)


def _parts(text):
    """Return how many joins are told of: 8 of `mul before its loop, 3 in each of 2 rounds (mul ×2, add), gate mul after it`."""
    total = 0
    for part in re.findall(r"[^,(]+(?:\([^)]*\))?", text):
        first, when, named = re.fullmatch(
            r"\s*(.+?) (before its loop|in \S+ of \d+ rounds|after it)(?: \((.*)\))?", part
        ).groups()
        joins = int(first) if first.isdigit() else 1
        assert not named or number(named) == joins
        some, of = when.split(" ")[1::2][:2] if when.startswith("in ") else ("1", "1")
        total += joins * int(of if some == "each" else some)
    return total
