"""`npulse guide`: which tool for which symptom with this run's facts; the quick tables searched."""

from __future__ import annotations

from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.text import Lang, safe_text

from .options import check_text_or_json, emit, emit_json, opened

USUAL_ARCHIVE = Path("diag")


def print_guide(symptom: str | None, run_path: Path | None, lang: Lang, format_name: str) -> int:
    """The whole guide, one symptom's part of it, or a command line explained.

    InputError where the run that is named is not there.
    """
    from npulse.core.guide import NOTHING_KNOWN, SYMPTOMS, facts_of_run, symptom_of
    from npulse.core.guide.lines import guide_lines, guide_values

    check_text_or_json(format_name)
    if symptom is not None and _is_explained(symptom, lang, format_name):
        return 0
    symptoms = SYMPTOMS if symptom is None else (symptom_of(symptom),)
    if run_path is None and USUAL_ARCHIVE.is_dir():
        run_path = USUAL_ARCHIVE
    facts = NOTHING_KNOWN
    if run_path is not None:
        from npulse.core.run.discover import discover

        facts = facts_of_run(discover(opened(run_path)))
    if format_name == "json":
        emit_json(guide_values(symptoms, facts, lang))
    else:
        emit(f"{safe_text(line)}\n" for line in guide_lines(symptoms, facts, lang))
    return 0


def _is_explained(text: str, lang: Lang, format_name: str) -> bool:
    """Print what a command line of a tool or a document means, where the text is one."""
    from npulse.core.guide.command_line import explain_line, is_command_line, line_lines, line_values

    if not is_command_line(text):
        return False
    told = explain_line(text)
    if format_name == "json":
        emit_json(line_values(told, lang))
    else:
        emit(f"{safe_text(line)}\n" for line in line_lines(told, lang))
    return True


def print_found(query: str, symptom: str | None, lang: Lang, format_name: str) -> int:
    """The entries of the quick tables that hold these words; UsageError where there is none."""
    from npulse.core.guide import search
    from npulse.core.guide.lines import entry_lines, entry_values

    check_text_or_json(format_name)
    if symptom is not None:
        raise UsageError("--search looks through the quick tables: no symptom goes with it")
    found = search(query)
    if not found:
        raise UsageError(
            f"nothing holds '{query}'", hint="fewer words, or a code alone: npulse guide --search 507035"
        )
    if format_name == "json":
        emit_json([entry_values(entry, lang) for entry in found])
    else:
        emit(f"{safe_text(line)}\n" for entry in found for line in entry_lines(entry, lang))
    return 0
