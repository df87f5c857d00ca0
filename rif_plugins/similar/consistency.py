"""Checks that the rows of a lexicon make a consistent swap, before anything is swapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rif_plugins.errors import LexiconError
from rif_plugins.similar.lexicon_file import LexiconTable, term_key

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    value: str
    slot: str
    where: str


def check_tables(tables: Sequence[LexiconTable]) -> None:
    """Refuse tables that contradict themselves or each other.

    Raises:
        LexiconError: A swap cycle, a term in two values, a term listed twice, a ``>`` term that no row
            defines, a guard for an unknown term, or two files that give one attribute different values.
    """
    if not tables:
        raise LexiconError("a lexicon needs one table or more: load an attribute or a file")
    groups: dict[str, list[LexiconTable]] = {}
    for table in tables:
        groups.setdefault(table.attribute, []).append(table)
    for attribute, group in groups.items():
        for table in group[1:]:
            if table.values != group[0].values:
                raise LexiconError(
                    f"{table.name}: attribute {attribute!r} has the values {', '.join(table.values)}, but "
                    f"{group[0].name} has {', '.join(group[0].values)}: use the same columns, or another name"
                )
        _check_attribute(group)


def _check_attribute(group: Sequence[LexiconTable]) -> None:
    places: dict[_Key, _Place] = {}
    seen: dict[tuple[_Key, str], _Place] = {}
    for table in group:
        for row in table.rows:
            for value, cell in zip(table.values, row.cells, strict=True):
                for term in () if cell.is_target_only else cell.terms:
                    place = _Place(value, row.slot, f"{table.name} line {row.line}")
                    _check_term(term, place, places, seen, group)
    _check_references(group, places)


def _check_term(
    term: str,
    place: _Place,
    places: dict[_Key, _Place],
    seen: dict[tuple[_Key, str], _Place],
    group: Sequence[LexiconTable],
) -> None:
    key = term_key(term)
    first = places.setdefault(key, place)
    if first.value != place.value:
        cycle = _find_cycle(key, group)
        if cycle and len(set(cycle)) > 1:
            raise LexiconError(
                f"{place.where}: swap cycle {' -> '.join(cycle)}: a swap must lead back after two steps; "
                "break the cycle or give every word one value"
            )
        if set(group[0].values) == {"from", "to"}:
            raise LexiconError(
                f"{place.where}: {term!r} has two partners, see {first.where}: a one-to-one swap needs one "
                "partner for every word"
            )
        raise LexiconError(
            f"{place.where}: {term!r} has two values of one attribute, {first.value!r} ({first.where}) and "
            f"{place.value!r}: keep it in one column"
        )
    twin = seen.setdefault((key, place.slot), place)
    if twin is not place:
        raise LexiconError(
            f"{place.where}: {term!r} is listed twice, first at {twin.where}: drop one of them, or mark one "
            "with `>` to have it written but not looked for"
        )


def _find_cycle(start: _Key, group: Sequence[LexiconTable]) -> list[str]:
    """A shortest path from ``start`` back to it along ``column -> next column``; empty if none."""
    edges: dict[_Key, list[_Key]] = {}
    for table in group:
        for row in table.rows:
            cells = [cell for cell in row.cells if cell.terms and not cell.is_target_only]
            for left, right in pairwise(cells):
                for term in left.terms:
                    edges.setdefault(term_key(term), []).extend(term_key(other) for other in right.terms)
    paths: list[list[_Key]] = [[start]]
    visited: set[_Key] = set()
    for path in paths:
        for following in edges.get(path[-1], ()):
            if following == start:
                return [" ".join(key) for key in (*path, start)]
            if following not in visited:
                visited.add(following)
                paths.append([*path, following])
    return []


def _check_references(group: Sequence[LexiconTable], places: dict[_Key, _Place]) -> None:
    for table in group:
        for row in table.rows:
            for value, cell in zip(table.values, row.cells, strict=True):
                if not cell.is_target_only:
                    continue
                found = places.get(term_key(cell.terms[0]))
                if found is None or found.value != value:
                    raise LexiconError(
                        f"{table.name} line {row.line}: `>{cell.terms[0]}` is not defined for {value!r}: "
                        "list it without `>` in another row of that column"
                    )
        for guard in table.guards:
            if guard.term != "*" and tuple(guard.term.split()) not in places:
                raise LexiconError(
                    f"{table.name} line {guard.line}: the guard names {guard.term!r}, which is in no row: "
                    "mend the spelling or drop the line"
                )
