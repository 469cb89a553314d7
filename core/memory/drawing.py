"""A block of memory with an access drawn on it, in characters.

    |=========== 4096 B ===========|····W        124 bytes behind the end; the second line has "+124 B"
    |===WW====== 4096 B ===========|             inside, at "@512 B"
    |=========== 4096 B =========WW|WW           over the end: "4+4 B", inside and outside
    W··|========= 4096 B ==========|             in front of it: "-16 B"
    |=========== 40 B ==========|·~·W            the scale is broken at ~: the distance is long

W is a write, R a read, X an access of unknown sort. Between the bars all is drawn to scale, with one cell at
least for what is there.
"""

from __future__ import annotations

from npulse.core.dataclass import dataclass

from .faults import Access, Block, Fault
from .hints import on_chip

MIN_WIDTH = 5
_BROKEN_CELLS = 3
_UNITS = (
    (1 << 60, "EiB"),
    (1 << 50, "PiB"),
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
)


@dataclass(frozen=True, slots=True)
class _Scene:
    """Bytes from the block's start. size: None if not known, start: then of an access at a known distance.

    length: bytes of the access, 1 if not told (has_length says so).
    """

    name: str
    size: int | None
    start: int
    length: int
    has_length: bool
    mark: str
    gap: int | None = None  # told distance behind the end of a block of unknown size

    @property
    def before(self) -> int:
        """Bytes of the access in front of the block."""
        return max(min(self.start + self.length, 0) - min(self.start, 0), 0)

    @property
    def past(self) -> int:
        if self.size is None:
            return self.length if self.gap is not None else 0
        return max(self.start + self.length - max(self.start, self.size), 0)

    @property
    def inside(self) -> int:
        return self.length - self.before - self.past

    @property
    def gap_before(self) -> int:
        return max(-(self.start + self.length), 0)

    @property
    def gap_past(self) -> int:
        if self.size is None:
            return self.gap or 0
        return max(self.start - self.size, 0)


def draw(block: Block | None, access: Access, width: int, *, is_ascii: bool) -> tuple[str, ...]:
    """The picture as lines of at most `width` cells, every character one cell wide.

    Without a block, buffers on the chip are drawn with the sizes that known chips have: all that the access
    is beyond of, or the smallest if it fits into each. () if there is nothing to draw (no position is told,
    it is no buffer of known size) or width is below 5.
    """
    if width < MIN_WIDTH:
        return ()
    lines: list[str] = []
    for scene in _scenes(block, access):
        lines.extend(_drawn(scene, width, is_ascii))
    return tuple(lines)


def has_picture(fault: Fault) -> bool:
    """Whether a fault is about the bounds of a block or of a buffer: a race is not."""
    return fault.block is not None or (fault.access.address is not None and not fault.hazard)


def _scenes(block: Block | None, access: Access) -> list[_Scene]:
    mark = {"write": "W", "read": "R"}.get(access.word, "X")
    has_length = access.size_bytes is not None and access.size_bytes > 0
    length = access.size_bytes if access.size_bytes is not None and access.size_bytes > 0 else 1
    if block is None or (block.side is None and block.start is None):
        found = on_chip(access)
        shown = [each for each in found if each.is_beyond] or list(found[:1])
        start = access.address or 0
        return [_Scene(each.space, each.capacity_bytes, start, length, has_length, mark) for each in shown]
    size = block.size_bytes if block.size_bytes is not None and block.size_bytes >= 0 else None
    distance = block.distance_bytes
    if block.start is not None and access.address is not None and (size is not None or block.side != "after"):
        return [_Scene("", size, access.address - block.start, length, has_length, mark)]
    if distance is None or block.side is None or distance < 0:
        return []
    if block.side == "before":
        return [_Scene("", size, -distance, length, has_length, mark)]
    if block.side == "inside":
        return [_Scene("", size, distance, length, has_length, mark)]
    if size is None:
        return [_Scene("", None, 0, length, has_length, mark, gap=distance)]
    return [_Scene("", size, size + distance, length, has_length, mark)]


# ---- lines ----


def _drawn(scene: _Scene, width: int, is_ascii: bool) -> list[str]:
    dot = "." if is_ascii else "\N{MIDDLE DOT}"
    left, right = _outside(scene, width)
    inner = width - 2 - sum(left) - sum(right)
    bar, size_label = _inner(scene, inner)
    before = _run(scene.mark, left[1], scene.before > _span(scene)) + _gap(
        left[0], scene.gap_before, scene, dot
    )
    past = _gap(right[0], scene.gap_past, scene, dot) + _run(scene.mark, right[1], scene.past > _span(scene))
    line = f"{before}|{bar}|{past}"
    first = next((i for i, c in enumerate(line) if c == scene.mark), 0)
    last = max(line.rfind(scene.mark), first)
    labels = [
        (label, anchor)
        for label, anchor in ((size_label, len(before)), (_told(scene, width), (first + last) // 2))
    ]
    return [line, *_label_lines([(label, anchor) for label, anchor in labels if label], width)]


def _span(scene: _Scene) -> int:
    """What lengths are compared with: the block. Without a size anything will do: its bar is broken."""
    if scene.size is None:
        return 8 * (abs(scene.start) + scene.length + (scene.gap or 0))
    return max(scene.size, 1)


def _outside(scene: _Scene, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(gap, mark) in cells for what lies in front of the block and behind it."""
    span = _span(scene)
    parts = (scene.gap_before, scene.before, scene.gap_past, scene.past)
    extent = span + sum(n for n in parts if n <= span)
    cells = [_cells(n, span, extent, width - 2) for n in parts]
    most = max(2, (width - 2) // 2)  # the block keeps half
    if scene.before and scene.past:
        most //= 2  # each side
    left, right = _shrunk(cells[0], cells[1], most), _shrunk(cells[2], cells[3], most)
    return left, right


def _cells(n: int, span: int, extent: int, width: int) -> int:
    if not n:
        return 0
    return _BROKEN_CELLS if n > span else max(1, (2 * n * width + extent) // (2 * extent))  # rounded


def _shrunk(gap: int, mark: int, most: int) -> tuple[int, int]:
    """The same in at most `most` cells, each part with one at least; the gap gives way first."""
    least_mark = 1 if mark else 0
    gap = min(gap, max(most - mark, 1 if gap else 0, 0))
    return gap, max(min(mark, most - gap), least_mark)


def _run(mark: str, cells: int, is_broken: bool) -> str:
    if is_broken and cells >= _BROKEN_CELLS:
        return mark + "~" + mark * (cells - 2)
    return mark * cells


def _gap(cells: int, n: int, scene: _Scene, dot: str) -> str:
    if not cells:
        return ""
    if n <= _span(scene):
        return dot * cells
    return (dot + "~" + dot * (cells - 2)) if cells >= _BROKEN_CELLS else "~" + dot * (cells - 1)


def _inner(scene: _Scene, cells: int) -> tuple[str, str]:
    """What stands between the bars, and the block's label if it found no room there."""
    filled = ["="] * cells
    if scene.size is None:
        filled[cells // 2] = "~"  # its length is not known
    if scene.inside > 0:
        for at in range(*_marked(scene, cells)):
            filled[at] = scene.mark
    bar = "".join(filled)
    label = _label(scene)
    runs = sorted(_runs(bar), key=lambda run: run[0] - run[1])  # the longest, the first of equal ones
    room = runs[0] if runs else (0, 0)
    wanted = f" {label} "
    if room[1] - room[0] < len(wanted) + 2:
        return bar, label
    at = room[0] + (room[1] - room[0] - len(wanted)) // 2
    return bar[:at] + wanted + bar[at + len(wanted) :], ""


def _marked(scene: _Scene, cells: int) -> tuple[int, int]:
    """The cells of the bar that the access covers, one at least."""
    if scene.size is None:
        return (0 if scene.before or not scene.start else min(1, cells - 1), max(1, min(2, cells)))
    size = max(scene.size, 1)
    first = max(scene.start, 0) * cells // size
    end = -(-min(scene.start + scene.length, size) * cells // size)
    first = min(first, cells - 1)
    return first, max(end, first + 1)


def _runs(bar: str) -> list[tuple[int, int]]:
    found, begin = [], None
    for at, char in enumerate(bar + " "):
        if char == "=" and begin is None:
            begin = at
        elif char != "=" and begin is not None:
            found.append((begin, at))
            begin = None
    return found


# ---- labels ----


def _label(scene: _Scene) -> str:
    size = "? B" if scene.size is None else _exact(scene.size)
    return f"{scene.name} {size}".strip()


def _told(scene: _Scene, width: int) -> str:
    """Where the access lies: "-16 B", "@512 B", "+124 B"; its parts where it lies over an end ("4+12 B")."""
    parts = [n for n in (scene.before, scene.inside, scene.past) if n > 0]
    if len(parts) > 1:
        exact = "+".join(map(str, parts)) + " B"
        return exact if len(exact) <= width else ""
    if scene.before:
        sign, n = "-", -scene.start
    elif scene.past:
        sign, n = "+", scene.gap_past
    else:
        sign, n = "@", scene.start
    exact = f"{sign}{n} B"
    return exact if len(exact) <= width else _short(sign, n, width)


def _exact(n: int) -> str:
    """4096 -> "4096 B", 196608 -> "192 KiB": a larger unit only where nothing is lost."""
    for unit, word in _UNITS:
        if n % unit == 0 and n >= 16 * unit:
            return f"{n // unit} {word}"
    return f"{n} B"


def _short(sign: str, n: int, width: int) -> str:
    for unit, word in _UNITS:
        if n >= unit:
            text = f"{sign}~{n // unit} {word}"
            return text if len(text) <= width else ""
    return ""


def _label_lines(labels: list[tuple[str, int]], width: int) -> list[str]:
    """Labels under their places, on one line where they do not meet."""
    lines: list[str] = []
    for label, anchor in labels:
        if len(label) > width:
            continue
        at = min(max(anchor - len(label) // 2, 0), width - len(label))
        for i, line in enumerate(lines):
            if len(line) < at:
                lines[i] = line.ljust(at) + label
                break
        else:
            lines.append(" " * at + label)
    return lines
