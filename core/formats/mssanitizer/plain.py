"""Whole records in the usual form, each by one pattern: most of a large log, at a quarter of the cost.

What a pattern takes is exactly what the other way, line by line, would make of the same bytes: no prefix,
no colour, no comment, nothing missing, and an empty line at the end. All else is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .bodies import Body, Line, parse_body
from .heads import SEVERITY, Head, is_of_another, parse_head
from .ledger import Ledger, ToolLine, parse_register, parse_tool_line
from .lines import pieces
from .records import Frame, Record, Side, Style
from .store import MAX_FRAMES, Cache, Store, is_surely_utf8

# "." is the quickest; what it takes too much (controls, equals signs) is seen when a text is parsed, once.
_END = rb"\r?\n"
_STACK = rb"((?:======    #[0-9]{1,3} .{1,1000}\n)*)"
_PLACE = rb"(?:pc current 0x([0-9a-f]{1,16})|<unknown>) \(serialNo:([0-9]{1,18})\)" + _END
_ONE = re.compile(
    rb"(====== (?:ERROR|WARNING|INFO): .{1,100})\n"
    rb"======    (?:at 0x([0-9a-f]{1,16}) on ([A-Z][A-Z0-9]{1,15})( when writing data)?(?: in (.{1,2000}))?"
    rb"|(from PIPE_.{1,2000}))" + _END + rb"======    (in block [a-z0-9,()-]{1,200} on device [0-9]{1,9})"
    rb"" + _END + rb"======    code in " + _PLACE + _STACK + _END
)
_EVENT = (
    rb"======    (PIPE_[A-Z0-9]{1,16}) (Read|Write) at (?:RAW|WAR|WAW)\(\)\+0x([0-9a-f]{1,16})"
    rb" in block ([0-9]{1,9} \([a-z]{1,16}\)) on device ([0-9]{1,9}) at " + _PLACE + _STACK
)
_TWO = re.compile(rb"(====== ERROR: Potential .{1,2200})\n" + _EVENT + _EVENT + _END)
_FREE = re.compile(
    rb"(====== (?:ERROR|WARNING): illegal free\(\)) ?\r?\n"
    rb"======    at 0x([0-9a-f]{1,16})( on [A-Z][A-Z0-9]{1,15})\r?\n"
    rb"======    (code in .{1,1000}) \(serialNo:([0-9]{1,18})\)\r?\n()\r?\n"
)
_TEXT = re.compile(rb"[^\x00-\x20=](?:[^\x00-\x1f=]*[^\x00-\x20=])?")

_MAX_PREFIXES = 64
_KINDS = frozenset(
    (
        *("illegal read", "illegal write", "out of bounds", "misaligned access", "uninitialized read"),
        *("unpaired flag", "redundant flag"),
    )
)


class Memo:
    """Heads and lines that were parsed before: most of a log repeats itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._heads: Cache[Head | None] = Cache()
        self._bodies: Cache[Body] = Cache()
        self._lines: Cache[Body | None] = Cache()
        self._tool_lines: Cache[Head | ToolLine] = Cache()

    def only_body(self, text: bytes) -> Body | None:
        """The body in a line that is one and nothing else; None for heads, banners and joined lines."""
        if text in self._lines:
            return self._lines[text]
        parts = pieces(text)
        is_body = len(parts) == 1 and not SEVERITY.match(parts[0]) and not is_of_another(parts[0])
        return self._lines.keep(text, parse_body(parts[0], self._store) if is_body else None)

    def tool_line(self, text: bytes) -> Head | ToolLine:
        """What stands behind "[mssanitizer]": a finding about a register, or about the run."""
        found = self._tool_lines.get(text)
        if found is not None:
            return found
        register = parse_register(b"[mssanitizer] " + text, text, self._store)
        return self._tool_lines.keep(text, register or parse_tool_line(text, self._store))

    def head(self, raw: bytes) -> Head | None:
        """The head in a line "====== ERROR: ..." with one blank and no comment; None if it is none."""
        if raw in self._heads:
            return self._heads[raw]
        marks, _, text = raw.partition(b" ")
        found = SEVERITY.match(text)
        head = None
        if found and found[1] != b"SUMMARY":
            head = parse_head(raw, found[1], text[found.end() :], len(marks), self._store)
        return self._heads.keep(raw, head)

    def body(self, text: bytes) -> Body:
        """What a line says, see `parse_body`."""
        body = self._bodies.get(text)
        return self._bodies.keep(text, parse_body(text, self._store)) if body is None else body


class Plain:
    """Reads one record in the usual form at a time."""

    def __init__(self, memo: Memo, store: Store, ledger: Ledger) -> None:
        self._memo = memo
        self._store = store
        self._ledger = ledger
        self._heads: Cache[Head | None] = Cache()
        self._wheres: Cache[Body | None] = Cache()
        self._stacks: Cache[tuple[Frame, ...] | None] = Cache()
        self._prefixed: dict[bytes, re.Pattern[bytes]] = {}

    def read(self, buffer: bytes, at: int, end: int) -> tuple[Record, int] | None:
        """The record that begins at `at`, and the index behind its empty line; None: read it line by line.

        The store knows line and byte of the place.
        """
        return self._read(buffer, at, end, "", 0)

    def read_prefixed(
        self, buffer: bytes, at: int, end: int, prefix: bytes, stream: str
    ) -> tuple[Record, int] | None:
        """The same where every line, the empty one too, begins with `prefix`."""
        lines = self._prefixed.get(prefix)
        if lines is None:
            if len(self._prefixed) >= _MAX_PREFIXES:
                return None
            start = re.escape(prefix)
            lines = re.compile(
                rb"(%s====== (?:ERROR|WARNING): .{1,4000}\n(?:%s======.{1,4000}\n){1,600})%s[ \t]*\r?\n"
                % (start, start, re.escape(prefix.rstrip()))
            )
            self._prefixed[prefix] = lines
        run = lines.match(buffer, at, end)
        if run is None:
            return None
        text = run[1][len(prefix) :].replace(b"\n" + prefix, b"\n") + b"\n"
        found = self._read(text, 0, len(text), stream, len(prefix))
        return None if found is None or found[1] != len(text) else (found[0], run.end())

    def _read(
        self, buffer: bytes, at: int, end: int, stream: str, n_prefix: int
    ) -> tuple[Record, int] | None:
        is_race = buffer.startswith(b"====== ERROR: Potential ", at)
        found = (_TWO if is_race else _ONE).match(buffer, at, end) or _FREE.match(buffer, at, end)
        if found is None or buffer.find(b" //", at, found.end()) >= 0:  # maybe a comment
            return None
        n_bytes = found.end(found.re.groups) - at  # the last group is the last stack
        n_bytes += n_prefix * buffer.count(b"\n", at, at + n_bytes) if n_prefix else 0
        read = self._free if found.re is _FREE else self._race if is_race else self._access
        record = read(found, stream, self._store.byte + n_bytes)
        return None if record is None else (record, found.end())

    def _access(self, found: re.Match[bytes], stream: str, end_byte: int) -> Record | None:
        raw_head, address, space, writing, kernel, pipes, block, pc, serial, stack = found.groups()
        head = self._head(raw_head)
        where = self._memo.body(block)
        frames = self._frames(pc, stack)
        if head is None or head.kind not in _KINDS or where.line is not Line.BLOCK or frames is None:
            return None
        facts = {**head.facts, **where.facts}
        style: Style = ""
        if pipes or kernel:
            named = self._where(pipes or b"at 0x0 on GM in " + kernel)
            if named is None:
                return None
            facts.update(named.facts)
            style = named.style
        if not pipes:
            facts["address"] = int(address, 16)
            facts["space"] = self._store.text(space)
            if writing:
                facts["access"] = "write"
            elif head.kind == "out of bounds":
                facts["access"] = "read"
        self._note(bool(pc), head.style, style)
        store = self._store
        return Record(
            head.kind,
            head.severity,
            head.text,
            store.line,
            store.byte,
            end_byte,
            pc=int(pc, 16) if pc else None,
            serial_number=int(serial),
            frames=frames,
            stream=stream,
            **facts,
        )

    def _race(self, found: re.Match[bytes], stream: str, end_byte: int) -> Record | None:
        raw_head, *parts = found.groups()
        head = self._head(raw_head)
        if head is None or head.kind != "race":
            return None
        store = self._store
        first = self._side(parts[:8], store.line + 1)
        second = self._side(parts[8:], store.line + 2 + parts[7].count(b"\n"))
        if first is None or second is None:
            return None
        self._note(bool(parts[5] and parts[13]), head.style, "")
        return Record(
            head.kind,
            head.severity,
            head.text,
            store.line,
            store.byte,
            end_byte,
            sides=(first, second),
            stream=stream,
            **head.facts,
        )

    def _free(self, found: re.Match[bytes], stream: str, end_byte: int) -> Record | None:
        raw_head, address, space, place, serial, _ = found.groups()
        head = self._head(raw_head)
        where = self._where(b"at 0x0" + space)
        if head is None or head.kind != "illegal free" or where is None or not _is_plain(place):
            return None
        location = self._memo.body(place + b" (serialNo:0)")
        if location.line is not Line.LOCATION or not location.frame:
            return None
        for style in (head.style, where.style, location.style):
            self._ledger.add_style(style)
        store = self._store
        numbers = {"address": int(address, 16), "serial_number": int(serial)}
        return Record(
            head.kind,
            head.severity,
            head.text,
            store.line,
            store.byte,
            end_byte,
            frames=store.stack((location.frame,)),
            stream=stream,
            **{**head.facts, **where.facts, **location.facts, **numbers},
        )

    def _side(self, parts: Sequence[bytes], line: int) -> Side | None:
        pipe, access, address, block, device, pc, serial, stack = parts
        frames = self._frames(pc, stack)
        where = self._memo.body(b"in block " + block)
        if frames is None or where.line is not Line.BLOCK:
            return None
        return Side(
            "read" if access == b"Read" else "write",
            self._store.text(pipe),
            None,
            int(address, 16),
            None,
            int(device),
            where.facts["cores"],
            None,
            int(pc, 16) if pc else None,
            int(serial),
            frames,
            line,
        )

    def _head(self, raw: bytes) -> Head | None:
        if raw in self._heads:
            return self._heads[raw]
        clean = raw.removesuffix(b"\r")
        is_plain = _is_plain(clean[len(b"====== ") :])
        return self._heads.keep(raw, self._memo.head(clean) if is_plain else None)

    def _where(self, raw: bytes) -> Body | None:
        """What the second line of a record says, but for the address; None if it is not plain."""
        if raw in self._wheres:
            return self._wheres[raw]
        clean = raw.removesuffix(b"\r").rstrip(b" ")
        body = self._memo.body(clean) if _is_plain(clean) else None
        return self._wheres.keep(raw, body if body and body.line is Line.WHERE else None)

    def _frames(self, pc: bytes | None, stack: bytes) -> tuple[Frame, ...] | None:
        """The frames of a stack; None if a line of it is not the next frame."""
        if not pc:
            return None if stack else self._store.stack((b"#0 <unknown>",))
        if stack in self._stacks:
            return self._stacks[stack]
        return self._stacks.keep(stack, self._parsed(stack))

    def _parsed(self, stack: bytes) -> tuple[Frame, ...] | None:
        lines = [
            line[len(b"======    ") :].removesuffix(b"\r").rstrip(b" ") for line in stack.split(b"\n")[:-1]
        ]
        if len(lines) > MAX_FRAMES or not all(map(_is_plain, lines)):
            return None
        bodies = map(self._memo.body, lines)
        if any(body.line is not Line.FRAME or body.index != i for i, body in enumerate(bodies)):
            return None
        return self._store.stack(lines) if lines else ()

    def _note(self, has_pc: bool, head_style: Style, style: Style) -> None:
        """The release that a record shows: it names its device, so that it is not one of the oldest."""
        seen = self._ledger.style
        if seen != "26.0":
            newest: Style = "26.0" if not has_pc or "26.0" in (head_style, style) else "8.2"
            if newest != seen:
                self._ledger.add_style(newest)


def _is_plain(text: bytes) -> bool:
    """Whether a text means the same line by line: another line of the report can begin at equals signs."""
    return bool(_TEXT.fullmatch(text)) and is_surely_utf8(text)
