from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from fakes.runs import fake_run

from rif_plugins.reports.junit import render_junit, write_junit


def test_one_case_a_target_and_attribute(tmp_path: Path) -> None:
    run = fake_run(30, seed=1)
    write_junit(run, tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    cases = {(c.get("classname"), c.get("name")) for c in root.iter("testcase")}
    expected = {(f"rif.{r.target}", r.attribute) for r in run.records if r.is_evaluated}
    assert cases == expected | {("rif.errors", "e0000")}
    assert int(root.get("tests", "")) == len(cases)
    assert int(root.get("failures", "")) == len(list(root.iter("failure")))
    assert root.get("errors") == "1"
    assert root.get("time") == "432.500"


def test_accepted_findings_fail_nothing() -> None:
    run = fake_run(30, seed=1)
    accepted = {record.id for record in run.findings}
    root = ElementTree.fromstring(render_junit(run, accepted=accepted))
    assert not list(root.iter("failure"))
    assert "all accepted" in "".join(node.text or "" for node in root.iter("system-out"))
    new = run.findings[0]
    (failure,) = ElementTree.fromstring(render_junit(run, accepted=accepted - {new.id})).iter("failure")
    assert failure.get("message", "").startswith("1 new findings of ")
    assert new.id in (failure.text or "")


def test_unmet_requirements_are_failed_cases() -> None:
    root = ElementTree.fromstring(render_junit(fake_run(3), unmet=["rif_rate is 0.4, below 0.9"]))
    suite = next(suite for suite in root if suite.get("name") == "rif.requirements")
    assert [case.get("name") for case in suite.iter("testcase")] == ["rif_rate is 0.4, below 0.9"]
    assert suite.get("failures") == "1"


def test_long_lists_are_cut() -> None:
    root = ElementTree.fromstring(render_junit(fake_run(120, seed=0, saliency=False)))
    texts = [failure.text or "" for failure in root.iter("failure")]
    assert any("more; see findings.csv" in text for text in texts)
    assert all(len(text.splitlines()) <= 61 for text in texts)


def test_hostile_texts_make_well_formed_xml() -> None:
    run = fake_run(30, hostile=True)
    root = ElementTree.fromstring(render_junit(run))
    text = "".join(root.itertext())
    assert "<script>window.hacked=1</script>" in text
    assert "]]><!--" in text
    assert "\x00" not in text
    error = next(root.iter("error"))
    assert error.get("message", "").endswith("<script>window.hacked=1</script>")
