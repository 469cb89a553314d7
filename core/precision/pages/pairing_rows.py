"""Both sequences of calls side by side: which stands against which, how sure that is, and why.

One line a call; a group has as many as its longer side has calls, with its last calls on the last line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import TENSOR, Dump
from npulse.core.table import Column, Table
from npulse.core.text import Lang, say
from npulse.core.views import Detail

from ..comparison import RankComparison
from ..pairing import CERTAIN, EVIDENCE, LIKELY, Group, Ints, Pairing
from ..role_records import ROLES, UNKNOWN_ROLE, UNMATCHED
from ..table import STATES
from ..verdict import ERROR, PASS, UNKNOWN, VERDICTS, WARNING
from .texts import TEXTS

LINKS = ("sure", "likely", "doubtful", "target only", "golden only")
"""How a line's calls belong together: `CERTAIN` and `LIKELY` are the least confidence of the first two."""
SURE, LIKELY_LINK, DOUBTFUL_LINK, TARGET_ONLY, GOLDEN_ONLY = range(5)
BRACKETS = ("", "first", "inner", "last")
"""Where a line stands in its group; of a side with fewer calls than the other the first lines are empty."""
NO_GROUP, FIRST, INNER, LAST = range(4)
_N_CANDIDATES = 3
_N_LOOKED_AT = 400
_N_LEAVES = 4
_SEVERITY = {PASS: 0, UNKNOWN: 1, WARNING: 2, ERROR: 3}


@dataclass(frozen=True, slots=True)
class PairingRows:
    """The lines of one rank and step. All arrays have one entry a line, in execution order.

    call: place in the sequence of the pairing. target, golden: call rows of the dumps, -1 where that side has
    none on this line. link: code of LINKS. bracket: code of BRACKETS. row: the worst row of the call in the
    rank, -1 where it has none. n_none, n_doubtful, n_copies: calls (not lines) without a counterpart, of
    doubt, that repeat another one.
    """

    pairing: Pairing
    call: Ints
    target: Ints
    golden: Ints
    link: npt.NDArray[np.int8]
    bracket: npt.NDArray[np.int8]
    row: Ints
    table: Table
    n_none: int
    n_doubtful: int
    n_copies: int

    @property
    def n_lines(self) -> int:
        return len(self.call)

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """The lines that a user may want to look at: doubtful, or without a counterpart."""
        found: npt.NDArray[np.bool_] = self.link >= DOUBTFUL_LINK
        return found

    def next_open(self, line: int, step: int) -> int | None:
        """The first line of the next (1) or previous (-1) call that is open; None where there is none."""
        starts = np.flatnonzero(self.open & np.diff(self.call, prepend=-1).astype(np.bool_))
        here = int(self.call[line]) if self.n_lines else 0
        rest = starts[self.call[starts] > here] if step > 0 else starts[self.call[starts] < here]
        return None if not len(rest) else int(rest[0] if step > 0 else rest[-1])

    def line_of_row(self, row: int) -> int:
        """The last line of the call that a row of the rank belongs to."""
        call = int(self.pairing.row_call[row])
        return int(np.searchsorted(self.call, call, side="right")) - 1

    def group_of(self, line: int) -> Group | None:
        """The group that a line belongs to."""
        return self.pairing.group_of(int(self.call[line]))


def pairing_rows(rank: RankComparison, pairing: Pairing | None = None) -> PairingRows:
    """The lines of a rank and step, and the table that shows them. Cost: O(calls + rows).

    pairing: another one of the same dumps that was not judged yet; what it pairs as before keeps its verdict.
    """
    judged = rank.rows.pairing
    pairing = judged if pairing is None else pairing
    height = np.ones(pairing.n_calls, np.int64)
    for group in pairing.groups:
        height[group.call] = max(len(group.target_calls), len(group.golden_calls), 1)
    call = np.repeat(np.arange(pairing.n_calls, dtype=np.int64), height)
    target, golden = pairing.target_call[call], pairing.golden_call[call]
    bracket = np.full(len(call), NO_GROUP, np.int8)
    start = np.cumsum(height) - height
    for group in pairing.groups:
        first, n = int(start[group.call]), int(height[group.call])
        bracket[first : first + n] = INNER
        bracket[first], bracket[first + n - 1] = FIRST, LAST
        for side, calls in ((target, group.target_calls), (golden, group.golden_calls)):
            side[first : first + n] = -1
            side[first + n - len(calls) : first + n] = calls
    link_of_call = _links(pairing)
    link = link_of_call[call]
    was = _place_before(pairing, judged)[call]
    row = np.where(was >= 0, _worst_rows(rank)[was], -1) if judged.n_calls else was
    return PairingRows(
        pairing,
        call,
        target,
        golden,
        link,
        bracket,
        row,
        _table(rank, pairing, call, target, golden, link, row, was),
        int((link_of_call >= TARGET_ONLY).sum()),
        int((link_of_call == DOUBTFUL_LINK).sum()),
        0 if pairing.recompute_of is None else int((pairing.recompute_of >= 0).sum()),
    )


def _links(pairing: Pairing) -> npt.NDArray[np.int8]:
    confidence = np.ones(pairing.n_calls) if pairing.confidence is None else pairing.confidence
    found = np.full(pairing.n_calls, DOUBTFUL_LINK, np.int8)
    found[confidence >= LIKELY] = LIKELY_LINK
    found[confidence >= CERTAIN] = SURE
    found[pairing.golden_call < 0] = TARGET_ONLY
    found[pairing.target_call < 0] = GOLDEN_ONLY
    return found


def _worst_rows(rank: RankComparison) -> Ints:
    """The worst row of each call of the sequence, the first among equals; -1 for a call without rows."""
    pairing = rank.rows.pairing
    severity = np.array([_SEVERITY[code] for code in range(len(VERDICTS))])[rank.rows.verdict]
    order = np.lexsort((-np.arange(pairing.n_rows), severity))
    worst = np.full(pairing.n_calls, -1, np.int64)
    worst[pairing.row_call[order]] = order  # the last write wins: the worst, the earliest among equals
    return worst


def _place_before(pairing: Pairing, judged: Pairing) -> Ints:
    """The place of each call in the pairing that was judged; -1 where it was paired otherwise."""
    if pairing is judged:
        return np.arange(pairing.n_calls, dtype=np.int64)
    places = {key: place for place, key in enumerate(_keys(judged))}
    return np.array([places.get(key, -1) for key in _keys(pairing)], np.int64)


def _keys(pairing: Pairing) -> list[tuple[int, int, int]]:
    """What each call of a sequence is, whatever its place: its calls, and how many its group has."""
    sizes = dict.fromkeys(range(pairing.n_calls), 0)
    for group in pairing.groups:
        sizes[group.call] = len(group.target_calls) + len(group.golden_calls)
    return list(zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), sizes.values(), strict=True))


def _table(
    rank: RankComparison,
    pairing: Pairing,
    call: Ints,
    target: Ints,
    golden: Ints,
    link: npt.NDArray[np.int8],
    row: Ints,
    was: Ints,
) -> Table:
    sure = np.where(link >= TARGET_ONLY, np.nan, 1.0)
    confidence = (
        sure if pairing.confidence is None else np.where(np.isnan(sure), sure, pairing.confidence[call])
    )
    n_rows, n_judged = rank.rows.n_rows, rank.rows.pairing.n_calls
    verdict = np.where(row >= 0, rank.rows.verdict[row], UNKNOWN) if n_rows else np.full(len(call), UNKNOWN)
    roles = np.asarray(rank.roles.call)
    role = np.where(was >= 0, roles[was], UNKNOWN_ROLE) if n_judged else np.full(len(call), UNKNOWN_ROLE)
    role = np.where((was < 0) & (link >= TARGET_ONLY), UNMATCHED, role)
    return Table(
        "pairing",
        (
            _names("target", target, rank.target),
            Column("link", "text", link, LINKS),
            _names("golden", golden, rank.golden),
            _evidence(pairing, call, link),
            Column("confidence", "float", confidence, absent=np.isnan(confidence)),
            Column("verdict", "text", verdict.astype(np.int8), VERDICTS),
            Column("role", "text", role.astype(np.int8), ROLES),
            Column("state", "text", verdict.astype(np.int64) * len(ROLES) + role, STATES, is_internal=True),
            Column("call", "int", call),
        ),
    )


def _names(name: str, calls: Ints, dump: Dump) -> Column:
    absent = calls < 0
    labels = dump.calls.names if len(dump.calls.names) else ("",)
    return Column(name, "text", np.maximum(calls, 0), labels, absent if absent.any() else None)


def _evidence(pairing: Pairing, call: Ints, link: npt.NDArray[np.int8]) -> Column:
    """Words of `EVIDENCE`, each combination made once."""
    if pairing.evidence is None:
        return Column(
            "why", "text", np.zeros(len(call), np.int64), (EVIDENCE[0],), _or_none(link >= TARGET_ONLY)
        )
    kinds, codes = np.unique(pairing.evidence, return_inverse=True)
    labels = tuple(" ".join(evidence_words(int(kind))) for kind in kinds) or ("",)
    codes = codes.reshape(-1)[call]
    has_none = np.array([not label for label in labels], np.bool_)[codes]
    return Column("why", "text", codes, labels, _or_none(has_none))


def _or_none(absent: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    return absent if absent.any() else None


def evidence_words(bits: int) -> list[str]:
    """The kinds of evidence whose bits are set."""
    return [word for place, word in enumerate(EVIDENCE) if bits >> place & 1]


# ---- one line in words ----


def pairing_detail(rank: RankComparison, rows: PairingRows, line: int, lang: Lang) -> Detail:
    """Why the calls of a line are paired or not, what both are given and give, what can be done."""
    t, g, link = int(rows.target[line]), int(rows.golden[line]), int(rows.link[line])
    group = rows.group_of(line)
    names = [rank.target.calls.names[t] if t >= 0 else "", rank.golden.calls.names[g] if g >= 0 else ""]
    name = next(filter(None, names), "")
    if all(names) and names[0] != names[1]:
        name = " / ".join(names)
    facts = [*_facts("target", rank.target, t, lang), *_facts("golden", rank.golden, g, lang)]
    parts = [_told(rank, rows, line, lang)]
    if group is not None:
        n = {"n_target": len(group.target_calls), "n_golden": len(group.golden_calls)}
        parts.append(say(TEXTS, "group-of", lang, fusion=group.fusion or "-", **n))
    copied = rows.pairing.recompute_of
    if copied is not None and (first := int(copied[rows.call[line]])) >= 0:
        parts.append(say(TEXTS, "copy-of", lang, name=rows.pairing.name(rank.target, rank.golden, first)))
    todo = "" if link in (SURE, LIKELY_LINK) else say(TEXTS, f"next-{LINKS[link].replace(' ', '-')}", lang)
    return Detail(name, " ".join(parts), tuple(facts), todo)


def _told(rank: RankComparison, rows: PairingRows, line: int, lang: Lang) -> str:
    link, call = int(rows.link[line]), int(rows.call[line])
    if link >= TARGET_ONLY:
        found = candidates(rank, rows, line)
        words = say(TEXTS, f"none-{LINKS[link].replace(' ', '-')}", lang)
        if not found:
            return words + " " + say(TEXTS, "no-candidates", lang)
        return words + " " + say(TEXTS, "candidates", lang, names=", ".join(found))
    confidence = rows.pairing.confidence
    bits = 1 if rows.pairing.evidence is None else int(rows.pairing.evidence[call])
    why = ", ".join(say(TEXTS, f"evidence-{word}", lang) for word in evidence_words(bits))
    sure = 1.0 if confidence is None else float(confidence[call])
    return say(TEXTS, f"link-{LINKS[link]}", lang, why=why or "-", confidence=f"{sure:.2f}")


def candidates(rank: RankComparison, rows: PairingRows, line: int) -> list[str]:
    """Calls of the other side that have no counterpart either and are of the same operator, nearest first."""
    is_target = int(rows.link[line]) == TARGET_ONLY
    own, dump = (rank.target, rank.golden) if is_target else (rank.golden, rank.target)
    calls = rows.target if is_target else rows.golden
    others = rows.golden if is_target else rows.target
    wanted = _type(own.calls.names[int(calls[line])])
    free = np.flatnonzero((rows.link == (GOLDEN_ONLY if is_target else TARGET_ONLY)) & (others >= 0))
    near = free[np.argsort(np.abs(free - line), kind="stable")[:_N_LOOKED_AT]]
    alike = (dump.calls.names[int(others[place])] for place in near)
    return [name for name in alike if _type(name) == wanted][:_N_CANDIDATES]


def _type(name: str) -> tuple[str, str]:
    """The operator alone, without number and prefix."""
    parsed = parse_name(name)
    return (parsed.cls or parsed.api).lower(), parsed.direction


def _facts(side: str, dump: Dump, call: int, lang: Lang) -> Iterator[tuple[str, str]]:
    """What a call is given and gives: dtype and shape of its first tensors."""
    if call < 0:
        return
    leaves = dump.leaves
    tensors = [leaf for leaf in dump.leaf_range(call) if int(leaves.kind[leaf]) == TENSOR]
    for leaf in (*tensors[:_N_LEAVES], *tensors[max(_N_LEAVES, len(tensors) - 1) :]):
        record = dump.leaf(leaf)
        shape = "" if record.shape is None else str(list(record.shape)).replace(" ", "")
        yield f"{say(TEXTS, side, lang)} {record.io}", f"{record.dtype or record.type} {shape}".strip()
