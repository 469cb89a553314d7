"""A look as lines: one a finding for people, one a JSON object for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.findings import Finding, Problem
from npulse.core.report.as_json import finding_dict, problem_dict
from npulse.core.report.blocks import json_text
from npulse.core.text import Lang, clock_text, safe_text, say, since_text

from .session import Look
from .status import state_dict, state_word, utc_text

MAX_LINE_CHARS = 2000
_LETTERS = {"error": "E", "warning": "W", "note": "n"}
TEXTS = {
    "withdrawn": ("does not hold any more: {message}", "不再成立：{message}"),
    "problem": ("not read: {message}", "未能读取：{message}"),
    "polling": (
        "the folder is looked at again and again: it cannot be watched here ({why})",
        "此处无法监听目录（{why}），改为定时查看",
    ),
    "unreachable": ("the folder is not there any more; waiting for it", "目录已不可访问，正在等待其恢复"),
    "back": ("the folder is there again", "目录已恢复"),
    "writer-gone": ("writer gone since {time}", "写入进程自 {time} 起已不在"),
    "quiet": ("nothing written since {time}", "自 {time} 起没有新的写入"),
    "verdict": ("verdict: {verdict} (exit code {code})", "结论：{verdict}（退出码 {code}）"),
}


def text_lines(look: Look, before: Look | None, lang: Lang, *, strict: bool = False) -> Iterator[str]:
    """What changed since `before`: findings, withdrawn ones, problems, state and verdict; safe to show."""
    now = clock_text(look.at_ns)
    for finding in look.new:
        letter = _LETTERS.get(finding.severity, "?")
        yield _line(now, letter, f"{finding.area} {_what(finding)}: {finding.message}")
    for finding in look.withdrawn:
        message = say(TEXTS, "withdrawn", lang, message=_what(finding))
        yield _line(now, ".", f"{finding.area} {message}")
    for problem in look.problems:
        yield _line(now, "?", _place(problem) + " " + say(TEXTS, "problem", lang, message=problem.message))
    for text in state_texts(look, before, lang):
        yield _line(now, "-", text)
    code = look.exit_code(strict=strict)
    if before is None or (before.verdict, before.exit_code(strict=strict)) != (look.verdict, code):
        yield _line(now, "=", say(TEXTS, "verdict", lang, verdict=look.verdict.upper(), code=code))


def state_texts(look: Look, before: Look | None, lang: Lang) -> Iterator[str]:
    """What is to be said of the folder and its writer, where that is new."""
    now, was = look.state, before.state if before is not None else None
    if now.mode == "polling" and (was is None or (was.mode, was.why) != (now.mode, now.why)):
        yield say(TEXTS, "polling", lang, why=now.why)
    if was is not None and was.is_reachable != now.is_reachable:
        yield say(TEXTS, "back" if now.is_reachable else "unreachable", lang)
    if now.last_write_ns is None or now.quiet_since_ns is None:
        return
    is_new = was is None or was.quiet_since_ns is None or was.has_writer != now.has_writer
    if is_new and now.has_writer is False:
        yield say(TEXTS, "writer-gone", lang, time=since_text(now.last_write_ns, look.at_ns))
    elif is_new:
        yield say(TEXTS, "quiet", lang, time=since_text(now.last_write_ns, look.at_ns))


def json_lines(look: Look, before: Look | None, *, strict: bool = False) -> Iterator[str]:
    """The same for programs: objects of kind finding, withdrawn, problem, state, summary (contract.md)."""
    at = {"at": utc_text(look.at_ns)}
    for kind, findings in (("finding", look.new), ("withdrawn", look.withdrawn)):
        for finding in findings:
            yield _json({"kind": kind, **at, **finding_dict(finding)})
    for problem in look.problems:
        body = problem_dict(problem)
        yield _json({"kind": "problem", **at, "problem": body.pop("kind"), **body})
    if before is None or _state_key(before) != _state_key(look):
        yield _json({"kind": "state", **at, **state_dict(look.state)})
    code = look.exit_code(strict=strict)
    was = None if before is None else (before.verdict, before.exit_code(strict=strict))
    if was != (look.verdict, code) or look.new or look.withdrawn or look.problems:
        areas = {name: one.report.verdict for name, one in look.reports.items()}
        body = {"kind": "summary", **at, "run": str(look.run.path), "verdict": look.verdict}
        yield _json({**body, "exit_code": code, "areas": areas})


def _state_key(look: Look) -> tuple[str, str, str]:
    return state_word(look.state), look.state.mode, look.state.why


def _json(body: dict[str, Any]) -> str:
    return json_text(body)


def _line(now: str, letter: str, text: str) -> str:
    return safe_text(f"{now} {letter} {text}", MAX_LINE_CHARS)


def _what(finding: Finding) -> str:
    at = finding.location
    places = [f"{word} {n}" for word, n in (("rank", at.rank), ("step", at.step)) if n is not None]
    where = f" ({', '.join(places)})" if places else ""
    return f"{finding.role} {finding.subject}{where} [{finding.rule}]"


def _place(problem: Problem) -> str:
    parts = [problem.artifact]
    parts += [f"{word} {n}" for word, n in (("line", problem.line), ("byte", problem.byte)) if n is not None]
    return ", ".join(parts)
