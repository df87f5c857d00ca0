"""JUnit XML for continuous integration: one test case a target and attribute, failed by new findings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.characters import one_line, printable, xml_text
from rif_plugins.reports.output_file import write_whole
from rif_plugins.reports.view import distinct_records, headline

_SHOWN = 20
_LENGTH = 400


def write_junit(
    run: RunResult, path: Path | str, *, accepted: Collection[str] = (), unmet: Sequence[str] = ()
) -> None:
    """Write a run as JUnit XML.

    Args:
        run: The run.
        path: Where to write.
        accepted: Ids of findings that are known and accepted; they fail nothing.
        unmet: One sentence for every requirement that the run does not meet, such as a rate below its
            bound; each becomes a failed test case of its own.

    Raises:
        UsageError: The file cannot be written.
    """
    write_whole(path, render_junit(run, accepted=accepted, unmet=unmet))


def render_junit(run: RunResult, *, accepted: Collection[str] = (), unmet: Sequence[str] = ()) -> bytes:
    """The same as UTF-8 bytes."""
    records = distinct_records(run)
    known = frozenset(accepted)
    cases: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        if record.is_evaluated:
            cases.setdefault(record.target, {}).setdefault(record.attribute, []).append(record)
    root = Xml.Element("testsuites", name="rif audit")
    for target, by_attribute in cases.items():
        suite = _suite(root, f"rif.{target}")
        for attribute, group in sorted(by_attribute.items()):
            _add_case(suite, target, attribute or "pairs", group, known)
    errors = [record for record in records if record.status == "error"]
    if errors:
        suite = _suite(root, "rif.errors")
        for record in errors:
            case = _case(suite, "rif.errors", record.example, record.seconds)
            message = _attribute(record.message or record.stop_reason)
            Xml.SubElement(case, "error", message=message, type="error")
    if unmet:
        suite = _suite(root, "rif.requirements")
        for sentence in unmet:
            case = _case(suite, "rif.requirements", sentence, 0.0)
            Xml.SubElement(case, "failure", message=_attribute(sentence), type="requirement")
    _count(root, run)
    Xml.indent(root)
    data: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suite(root: Xml.Element, name: str) -> Xml.Element:
    return Xml.SubElement(root, "testsuite", name=_attribute(name))


def _case(suite: Xml.Element, classname: str, name: str, seconds: float) -> Xml.Element:
    return Xml.SubElement(
        suite,
        "testcase",
        classname=_attribute(classname),
        name=_attribute(name),
        time=f"{seconds:.3f}",
    )


def _add_case(
    suite: Xml.Element, target: str, attribute: str, group: Sequence[Record], known: frozenset[str]
) -> None:
    case = _case(suite, f"rif.{target}", attribute, sum(record.seconds for record in group))
    new = [record for record in group if record.is_found and record.id not in known]
    n_found = sum(record.is_found for record in group)
    if new:
        message = f"{len(new)} new findings of {n_found} in {len(group)} pairs"
        failure = Xml.SubElement(case, "failure", message=message, type=_attribute(target))
        failure.text = xml_text("\n".join(_lines(new)))
    elif n_found:
        output = Xml.SubElement(case, "system-out")
        output.text = f"{n_found} findings in {len(group)} pairs, all accepted"


def _lines(findings: Sequence[Record]) -> list[str]:
    lines = []
    for record in findings[:_SHOWN]:
        lines.append(f"{record.id} {record.status}, example {one_line(record.example, 80)}")
        for side in ("original", "similar"):
            text = getattr(record, f"perturbed_{side}") or getattr(record, side)
            lines.append(f"  {side}: {one_line(text, _LENGTH)}")
    if len(findings) > _SHOWN:
        lines.append(f"and {len(findings) - _SHOWN} more; see findings.csv")
    return lines


def _attribute(text: str) -> str:
    return xml_text(printable(text))


def _count(root: Xml.Element, run: RunResult) -> None:
    """Write the counts that readers of JUnit XML expect."""
    total = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        cases = suite.findall("testcase")
        counts = {
            "tests": len(cases),
            "failures": sum(case.find("failure") is not None for case in cases),
            "errors": sum(case.find("error") is not None for case in cases),
        }
        for name, number in counts.items():
            suite.set(name, str(number))
            total[name] += number
        suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
    for name, number in total.items():
        root.set(name, str(number))
    root.set("time", f"{float(run.configuration.get('seconds') or 0.0):.3f}")
    if len(root):
        properties = Xml.Element("properties")
        Xml.SubElement(properties, "property", name="headline", value=_attribute("".join(headline(run))))
        root[0].insert(0, properties)
