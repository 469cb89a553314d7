"""Options that commands share, declared once, and how a command speaks: stdout for data, stderr for talk."""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, get_type_hints

import typer

from npulse.core.dataclass import dataclass
from npulse.core.errors import EnvironmentLacks, UsageError
from npulse.core.text import Lang, safe_text

if TYPE_CHECKING:
    from npulse.core.cache import Cache

FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="text, json, jsonl, md or csv (default: text, or by -o's suffix)."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file; its suffix decides the format.")
]
TablesOption = Annotated[bool, typer.Option("--tables", help="Add the full table (all rows, all columns).")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings and notes also give exit code 1.")]
RankOption = Annotated[int | None, typer.Option("--rank", help="Only this rank.")]
StepOption = Annotated[int | None, typer.Option("--step", help="Only this step.")]
JobsOption = Annotated[
    int, typer.Option("--jobs", min=0, help="Worker processes (0: as many as processors).")
]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", help="Dask scheduler for precision, overflow: tcp://HOST:PORT, or local:N."),
]
PathMapOption = Annotated[
    list[str] | None,
    typer.Option("--path-map", help="LOCAL=REMOTE: a folder here, as the cluster's workers see it; several."),
]
LangOption = Annotated[str | None, typer.Option("--lang", help="en or zh (default: from LANG).")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep cached results.")]
PlainOption = Annotated[bool, typer.Option("--plain", help="Text instead of the full-screen workbench.")]
RoundOption = Annotated[
    str | None, typer.Option("--round", help="Which round of the run (default: the newest).")
]
PairOption = Annotated[
    str | None,
    typer.Option("--pair", help="Which pair of the round, by its target's name (default: the first)."),
]
MaskOption = Annotated[
    bool, typer.Option("--mask", help="Hide names: paths and module names become stable hashes.")
]
BaselineOption = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        help="Only what is new or worse fails: JSON of npulse check, a run, round:NAME (round: the marked).",
    ),
]
SilenceOption = Annotated[
    list[Path] | None,
    typer.Option("--silence", help="File of [[silence]] tables (rule, subject, reason, until); several."),
]
SourceRootOption = Annotated[
    list[Path] | None,
    typer.Option("--source-root", help="Folder with the sources; may be given several times."),
]
PluginOption = Annotated[
    list[Path] | None,
    typer.Option("--plugin", help="Use this plug-in too: code that runs with your rights; several."),
]
NoPluginsOption = Annotated[bool, typer.Option("--no-plugins", help="Use no plug-in (NPULSE_NO_PLUGINS=1).")]
CriteriaOption = Annotated[
    str | None,
    typer.Option("--criteria", help="Thresholds, NAME=NUMBER,... (cosine=0.99); of check a file."),
]


CACHE_MAX_VARIABLE = "NPULSE_CACHE_MAX"
_SIZE = re.compile(r"(\d{1,12}) ?([kmg]?b?)", re.ASCII | re.IGNORECASE)
_UNITS = {
    **{"": 1, "B": 1, "K": 10**3, "KB": 10**3},
    **{"M": 10**6, "MB": 10**6, "G": 10**9, "GB": 10**9},
}


def chosen_lang(lang: str | None) -> Lang:
    """The language to speak: the option, else the environment."""
    from ..messages import choose_language

    if lang not in (None, "en", "zh"):
        raise UsageError(f"unknown language '{lang}'", hint="en or zh")
    return choose_language(lang, os.environ)


def chosen_format(format_name: str | None, output: Path | None) -> str:
    """The report format: --format, else what the output's suffix stands for, else text."""
    from npulse.core.report import FORMATS, format_of

    if format_name is not None:
        if format_name not in FORMATS:
            raise UsageError(f"unknown format '{format_name}'", hint="formats: " + ", ".join(FORMATS))
        _warn_of_suffix(format_name, output)
        return format_name
    return format_of(str(output), "text") if output is not None else "text"


def _warn_of_suffix(format_name: str, output: Path | None) -> None:
    from npulse.core.report import format_of

    try:
        meant = format_of(str(output), format_name) if output is not None else format_name
    except UsageError:
        return  # a suffix that stands for no format misleads nobody
    if meant != format_name:
        talk(f"npulse: {output} will hold {format_name}, not what its suffix says")


def version() -> str:
    """The product's version."""
    import npulse

    return str(npulse.__version__)


def user_cache(no_cache: bool) -> Cache | None:
    """Where results are kept: NPULSE_CACHE_DIR, else the user's cache folder; None with --no-cache."""
    return None if no_cache else kept_in()


def kept_in() -> Cache:
    """The user's cache, of at most NPULSE_CACHE_MAX bytes ("2GB", "800MB"). UsageError for another word."""
    from npulse.core.cache import MAX_BYTES, default_cache

    given = os.environ.get(CACHE_MAX_VARIABLE, "").strip()
    found = _SIZE.fullmatch(given)
    if given and found is None:
        raise UsageError(f"{CACHE_MAX_VARIABLE}={given[:40]} is no size", hint="bytes, or 800MB, 2GB")
    most = MAX_BYTES if found is None else int(found[1]) * _UNITS[found[2].upper()]
    return default_cache(os.environ.get("NPULSE_CACHE_DIR"), max_bytes=most)


def told_cache(no_cache: bool, lang: Lang) -> Cache | None:
    """As `user_cache`, for a command: where something cannot be kept, that is said once on stderr."""
    cache = user_cache(no_cache)
    if cache is not None:
        cache.on_trouble = lambda why: _tell_of_cache(cache.folder, why, lang)
    return cache


def _tell_of_cache(folder: Path, why: str, lang: Lang) -> None:
    shown = safe_text(f"{folder}: {why}")
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")  # where the progress stands
    if lang == "zh":
        talk(f"npulse: 结果无法保存到缓存，下次将重新计算 ({shown})")
    else:
        talk(f"npulse: results are not kept for the next time ({shown})")


def opened(path: Path) -> Path:
    """The run that a path stands for: a pack (npulse pack) is unpacked into the cache folder first."""
    if not path.is_file():
        return path
    from npulse.core.packs.opening import is_archive, open_pack

    if not is_archive(path):
        return path
    from npulse.core.cache import default_cache

    pack = open_pack(path, default_cache(os.environ.get("NPULSE_CACHE_DIR")).folder)
    made = pack.manifest
    talk(f"npulse: {path} is a pack of {made.path}, made on {made.made} by npulse {made.npulse}")
    return pack.run


def now_text() -> str:
    """Day and minute, for what a person reads."""
    return time.strftime("%Y-%m-%d %H:%M")


def check_seconds(seconds: float | None, option: str) -> None:
    """UsageError for a time that is no number of seconds: nan passes every lower limit, inf never ends."""
    if seconds is not None and not math.isfinite(seconds):
        raise UsageError(f"{option} {seconds} is no number of seconds")


@dataclass(frozen=True, slots=True)
class AnalyseOptions:
    """The options that every analysing command takes; their declarations are the command line's."""

    format_name: FormatOption = None
    output: OutputOption = None
    tables: TablesOption = False
    strict: StrictOption = False
    criteria: CriteriaOption = None
    round_name: RoundOption = None
    pair_name: PairOption = None
    rank: RankOption = None
    step: StepOption = None
    jobs: JobsOption = 0
    cluster: ClusterOption = None
    path_map: PathMapOption = None
    lang: LangOption = None
    no_cache: NoCacheOption = False
    mask: MaskOption = False
    plain: PlainOption = False
    plugin: PluginOption = None
    no_plugins: NoPluginsOption = False


def use_plugins(files: Sequence[Path] | None, is_off: bool) -> None:
    """What a command line says of plug-ins; nothing is looked for where it says nothing."""
    if not files and not is_off:
        return
    if files and is_off:
        raise UsageError("--plugin and --no-plugins say opposite things", hint="give one of them")
    from npulse.core.plugins.registry import use

    use(files or (), off=is_off)


def with_analyse_options(command: Callable[..., int]) -> Callable[..., int]:
    """The command, its parameter `options` spread over the command line as the fields of AnalyseOptions."""
    hints = get_type_hints(command, include_extras=True)
    spread = get_type_hints(AnalyseOptions, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [
        parameter.replace(annotation=hints[name], kind=keyword)
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "options"
    ]
    shared = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=spread[f.name])
        for f in fields(AnalyseOptions)
    ]

    def run(**values: Any) -> int:
        options = AnalyseOptions(**{f.name: values.pop(f.name) for f in fields(AnalyseOptions)})
        use_plugins(options.plugin, options.no_plugins)
        return command(**values, options=options)

    parameters = [*own, *shared]
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    vars(run).update(__signature__=inspect.Signature(parameters, return_annotation=int))
    run.__annotations__ = {**annotations, "return": int}
    return run


def only_path(words: Sequence[str]) -> Path | None:
    """The one path that a command was given, None for none; UsageError for more."""
    if len(words) > 1:
        raise UsageError(f"one path, not {len(words)}: {' '.join(words)}")
    return Path(words[0]) if words else None


def talk(line: str) -> None:
    """One line to stderr, without control characters."""
    print(carried(safe_text(line), sys.stderr), file=sys.stderr)


def emit(text_pieces: Iterable[str], *, is_json: bool = False) -> None:
    """Write pieces of a report to stdout in its own encoding; what it cannot carry is escaped, never lost.

    JSON is UTF-8 whatever the locale says: it is for programs.
    """
    if sys.stdout is None:
        raise EnvironmentLacks("stdout is closed: the answer could not be written")
    try:
        _write_out(text_pieces, is_json=is_json)
    except BrokenPipeError:
        raise  # the reader has seen enough
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentLacks(f"the answer could not be written to stdout: {reason}") from error


def check_text_or_json(format_name: str) -> None:
    """UsageError for another format, where a command has these two alone."""
    if format_name not in ("text", "json"):
        raise UsageError(f"unknown format '{format_name}'", hint="text or json")


def emit_json(value: Any) -> None:
    """Plain values as JSON to stdout, with nothing in it that a terminal obeys."""
    from npulse.core.report.blocks import json_text

    emit([json_text(value, indent=1) + "\n"], is_json=True)


def _write_out(text_pieces: Iterable[str], *, is_json: bool) -> None:
    raw = getattr(sys.stdout, "buffer", None)
    if is_json and raw is not None:
        sys.stdout.flush()
        for piece in text_pieces:
            raw.write(piece.encode("utf-8"))
        raw.flush()
        return
    for piece in text_pieces:
        sys.stdout.write(carried(piece, sys.stdout))
    sys.stdout.flush()


def carried(text: str, stream: TextIO) -> str:
    """Text as a stream can carry it: a terminal that is not in UTF-8 gets ASCII, whatever the interpreter
    takes for its encoding (in a C locale that is UTF-8); drawings become their ASCII shapes."""
    if text.isascii():
        return text
    if getattr(stream, "isatty", bool)():
        from ..glyphs import ascii_shapes
        from ..terminal import probe

        if not probe().is_utf8:
            return ascii_shapes(text).encode("ascii", "backslashreplace").decode("ascii")
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
