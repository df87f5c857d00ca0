"""JUnit XML for continuous integration: one test case a target and attribute, failed by new findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as Xml

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.characters import one_line, printable, xml_text
from rif_plugins.reports.output_file import write_pieces
from rif_plugins.reports.view import headline

_SHOWN = 20
_LENGTH = 400
_HEAD = "<?xml version='1.0' encoding='utf-8'?>\n"


def write_junit(
    run: RunResult, path: Path | str, *, accepted: Collection[str] = (), unmet: Sequence[str] = ()
) -> None:
    """Write a run as JUnit XML.

    Args:
        run: The run; its records are read once, or twice where there are errors, and not kept.
        path: Where to write.
        accepted: Ids of findings that are known and accepted; they fail nothing.
        unmet: One sentence for every requirement that the run does not meet, such as a rate below its
            bound; each becomes a failed test case of its own.

    Raises:
        UsageError: The file cannot be written.
    """
    write_pieces(path, _pieces(run, accepted, unmet))


def render_junit(run: RunResult, *, accepted: Collection[str] = (), unmet: Sequence[str] = ()) -> bytes:
    """The same as UTF-8 bytes."""
    return b"".join(_pieces(run, accepted, unmet))


def _pieces(run: RunResult, accepted: Collection[str], unmet: Sequence[str]) -> Iterator[bytes]:
    lines = _lines(run, frozenset(accepted), unmet)
    return (line.encode("utf-8", "xmlcharrefreplace") for line in lines)


@dataclass(slots=True)
class _Suite:
    """A suite, its counts known before its cases are written."""

    name: str
    cases: Iterable[Xml.Element]
    tests: int
    failures: int = 0
    errors: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Group:
    """The records of one target and attribute."""

    n: int = 0
    n_found: int = 0
    n_new: int = 0
    seconds: float = 0.0
    told: list[str] = field(default_factory=list)

    def add(self, record: Record, known: frozenset[str]) -> None:
        self.n += 1
        self.seconds += record.seconds
        if record.is_found:
            self.n_found += 1
            if record.id not in known:
                self.n_new += 1
                if self.n_new <= _SHOWN:
                    self.told += _told(record)

    def case(self, target: str, attribute: str) -> Xml.Element:
        case = _case(f"rif.{target}", attribute or "pairs", self.seconds)
        if self.n_new:
            message = f"{self.n_new} new findings of {self.n_found} in {self.n} pairs"
            failure = Xml.SubElement(case, "failure", message=message, type=_attribute(target))
            more = self.n_new - _SHOWN
            rest = [f"and {more} more; see findings.csv"] if more > 0 else []
            failure.text = xml_text("\n".join([*self.told, *rest]))
        elif self.n_found:
            output = Xml.SubElement(case, "system-out")
            output.text = f"{self.n_found} findings in {self.n} pairs, all accepted"
        return case


def _lines(run: RunResult, known: frozenset[str], unmet: Sequence[str]) -> Iterator[str]:
    suites = _suites(run, known, unmet)
    root = Xml.Element(
        "testsuites",
        name="rif audit",
        tests=str(sum(suite.tests for suite in suites)),
        failures=str(sum(suite.failures for suite in suites)),
        errors=str(sum(suite.errors for suite in suites)),
        time=f"{float(run.configuration.get('seconds') or 0.0):.3f}",
    )
    yield _HEAD
    if not suites:
        yield _text(root) + "\n"
        return
    yield _opened(root) + "\n"
    for number, suite in enumerate(suites):
        element = Xml.Element(
            "testsuite",
            name=_attribute(suite.name),
            tests=str(suite.tests),
            failures=str(suite.failures),
            errors=str(suite.errors),
            time=f"{suite.seconds:.3f}",
        )
        yield f"  {_opened(element)}\n"
        if number == 0:
            properties = Xml.Element("properties")
            Xml.SubElement(properties, "property", name="headline", value=_attribute("".join(headline(run))))
            yield _indented(properties)
        for case in suite.cases:
            yield _indented(case)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _suites(run: RunResult, known: frozenset[str], unmet: Sequence[str]) -> list[_Suite]:
    """Every suite that has a case, after a first look at the records."""
    groups: dict[str, dict[str, _Group]] = {}
    errors = _Suite("rif.errors", _error_cases(run), 0)
    for record in run.distinct():
        if record.is_evaluated:
            groups.setdefault(record.target, {}).setdefault(record.attribute, _Group()).add(record, known)
        elif record.status == "error":
            errors.tests += 1
            errors.errors += 1
            errors.seconds += _rounded(record.seconds)
    suites = []
    for target, by_attribute in groups.items():
        suite = _Suite(f"rif.{target}", [g.case(target, a) for a, g in sorted(by_attribute.items())], 0)
        suite.tests = len(by_attribute)
        suite.failures = sum(group.n_new > 0 for group in by_attribute.values())
        suite.seconds = sum(_rounded(group.seconds) for _, group in sorted(by_attribute.items()))
        suites.append(suite)
    requirements = _Suite("rif.requirements", map(_unmet_case, unmet), len(unmet), failures=len(unmet))
    return [*suites, *(suite for suite in (errors, requirements) if suite.tests)]


def _error_cases(run: RunResult) -> Iterator[Xml.Element]:
    for record in run.distinct():
        if record.status == "error":
            case = _case("rif.errors", record.example, record.seconds)
            message = _attribute(record.message or record.stop_reason)
            Xml.SubElement(case, "error", message=message, type="error")
            yield case


def _unmet_case(sentence: str) -> Xml.Element:
    case = _case("rif.requirements", sentence, 0.0)
    Xml.SubElement(case, "failure", message=_attribute(sentence), type="requirement")
    return case


def _case(classname: str, name: str, seconds: float) -> Xml.Element:
    return Xml.Element(
        "testcase", classname=_attribute(classname), name=_attribute(name), time=f"{seconds:.3f}"
    )


def _told(record: Record) -> list[str]:
    """A finding in three lines."""
    lines = [f"{record.id} {record.status}, example {one_line(record.example, 80)}"]
    for side in ("original", "similar"):
        text = getattr(record, f"perturbed_{side}") or getattr(record, side)
        lines.append(f"  {side}: {one_line(text, _LENGTH)}")
    return lines


def _indented(element: Xml.Element) -> str:
    """An element of a suite, with its own elements on lines of their own."""
    Xml.indent(element, level=2)
    return f"    {_text(element)}\n"


def _opened(element: Xml.Element) -> str:
    """The opening tag of an element that has no content yet."""
    return _text(element).removesuffix(" />") + ">"


def _text(element: Xml.Element) -> str:
    return Xml.tostring(element, encoding="unicode")


def _rounded(seconds: float) -> float:
    """Seconds as a case tells them."""
    return float(f"{seconds:.3f}")


def _attribute(text: str) -> str:
    return xml_text(printable(text))
