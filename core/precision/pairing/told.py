"""A pairing in words: how sure, why, which group; the columns of the table and the note of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npulse.core.findings import Finding
from npulse.core.table import Column, joined_text
from npulse.core.text import Lang, say

from .model import CERTAIN, EVIDENCE, LIKELY, Group, Ints, Pairing
from .texts import TEXTS

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Comparison, RankComparison

_NAME = 1 << EVIDENCE.index("name")


def sure_word(confidence: float) -> str:
    """Key of the text for how sure a pair is."""
    return "certain" if confidence >= CERTAIN else "likely" if confidence >= LIKELY else "doubtful"


def why_words(evidence: int, lang: Lang) -> str:
    """What speaks for a pair: "type, shape, order"."""
    words = [word for bit, word in enumerate(EVIDENCE) if evidence >> bit & 1]
    return ", ".join(say(TEXTS, f"why-{word}", lang) for word in words)


def is_by_name(pairing: Pairing, call: int) -> bool:
    """Whether nothing but equal names decided, as it does where graphs are alike."""
    if pairing.evidence is None or pairing.confidence is None:
        return True
    is_named = bool(int(pairing.evidence[call]) & _NAME) and float(pairing.confidence[call]) >= CERTAIN
    return is_named and pairing.group_of(call) is None


def pair_words(rank: RankComparison, call: int, lang: Lang) -> str:
    """A sentence about a pair that is not by name; "" where it is, or where it has no partner."""
    pairing = rank.rows.pairing
    t, g = int(pairing.target_call[call]), int(pairing.golden_call[call])
    if t < 0 or g < 0 or is_by_name(pairing, call):
        return ""
    group = pairing.group_of(call)
    if group is not None:
        return _group_words(rank, group, lang)
    assert pairing.confidence is not None and pairing.evidence is not None
    return say(
        TEXTS,
        "paired-with",
        lang,
        other=rank.golden.calls.names[g],
        sure=say(TEXTS, sure_word(float(pairing.confidence[call])), lang),
        why=why_words(int(pairing.evidence[call]), lang),
    )


def _group_words(rank: RankComparison, group: Group, lang: Lang) -> str:
    fusion = group.fusion or say(TEXTS, "no-fusion", lang)
    golden = [rank.golden.calls.names[call] for call in group.golden_calls]
    text = say(TEXTS, "group", lang, members=" + ".join(golden), fusion=fusion)
    if len(group.target_calls) > 1:
        several = " + ".join(rank.target.calls.names[call] for call in group.target_calls)
        text = say(TEXTS, "group-of", lang, several=several, fusion=fusion) + text
    return text


def group_members(rank: RankComparison, call: int) -> tuple[str, ...]:
    """Names of the calls of a group but the one that it is named by; () for a plain pair."""
    group = rank.rows.pairing.group_of(call)
    if group is None:
        return ()
    own = [rank.target.calls.names[c] for c in group.target_calls[:-1]]
    return (*own, *(rank.golden.calls.names[c] for c in group.golden_calls))


def pairing_columns(ranks: Sequence[RankComparison]) -> list[Column]:
    """pairing: 0 to 1, absent where nothing stands against a call; pairing_why; group: calls in a group."""
    confidence, absent, sizes, why = [], [], [], []
    for rank in ranks:
        pairing = rank.rows.pairing
        both = (pairing.target_call >= 0) & (pairing.golden_call >= 0)
        sure = np.where(both, 1.0, np.nan) if pairing.confidence is None else pairing.confidence
        confidence.append(np.nan_to_num(sure, nan=0.0)[pairing.row_call])
        absent.append(np.isnan(sure)[pairing.row_call])
        sizes.append(_sizes(pairing)[pairing.row_call])
        why.append(_reasons(pairing, both))
    n_calls = _joined(sizes).astype(np.int64)
    return [
        Column("pairing", "float", _joined(confidence), absent=_joined(absent).astype(np.bool_)),
        joined_text("pairing_why", why),
        Column("group", "int", n_calls, absent=n_calls == 0),
    ]


def _joined(parts: Sequence[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
    return np.concatenate(parts) if parts else np.zeros(0)


def _sizes(pairing: Pairing) -> Ints:
    sizes = np.zeros(pairing.n_calls, np.int64)
    for group in pairing.groups:
        sizes[group.call] = len(group.target_calls) + len(group.golden_calls)
    return sizes


def _reasons(pairing: Pairing, both: npt.NDArray[np.bool_]) -> tuple[Ints, Sequence[str]]:
    """Codes of the rows and their texts; the words are the contract's, not the language's."""
    evidence = np.where(both, _NAME, 0) if pairing.evidence is None else pairing.evidence
    fusions = {group.call: group.fusion for group in pairing.groups}
    known, codes = np.unique(evidence, return_inverse=True)
    texts = [why_words(int(bits), "en") for bits in known.tolist()]
    codes = codes.reshape(-1).astype(np.int64)
    codes[evidence == 0] = -1
    for call, fusion in fusions.items():
        text = texts[codes[call]]
        texts.append(text.replace("fusion", f"fusion {fusion}") if fusion else text)
        codes[call] = len(texts) - 1
    return codes[pairing.row_call], texts


def pairing_notes(comparison: Comparison, area: str, lang: Lang) -> list[Finding]:
    """What was paired by anything but names, and the least sure pair; nothing where names decided."""
    n = groups = copies = doubtful = 0
    least: tuple[float, RankComparison, int] | None = None
    for rank in comparison.ranks:
        pairing = rank.rows.pairing
        if pairing.recompute_of is not None:
            copies += int((pairing.recompute_of >= 0).sum())
        if pairing.evidence is None or pairing.confidence is None:
            continue
        both = (pairing.target_call >= 0) & (pairing.golden_call >= 0)
        named = (pairing.evidence & _NAME > 0) & (pairing.confidence >= CERTAIN)
        copied = (
            pairing.recompute_of >= 0 if pairing.recompute_of is not None else np.zeros(len(both), np.bool_)
        )
        other = both & ~named & ~copied
        in_group = np.isin(np.arange(len(both)), [group.call for group in pairing.groups])
        n += int((other & ~in_group).sum())
        groups += len(pairing.groups)
        doubtful += int((other & (pairing.confidence < LIKELY)).sum())
        if (places := np.flatnonzero(other)).size:
            call = int(places[np.argmin(pairing.confidence[places])])
            found = (float(pairing.confidence[call]), rank, call)
            least = found if least is None or found[0] < least[0] else least
    if least is None:
        return []
    confidence, rank, call = least
    pairing = rank.rows.pairing
    assert pairing.evidence is not None
    target = rank.target.calls.names[int(pairing.target_call[call])]
    counts = {"calls": n, "groups": groups, "copies": copies, "doubtful": doubtful}
    golden = " + ".join(rank.golden.calls.names[c] for c in pairing.members(call, is_target=False))
    return [
        Finding(
            area=area,
            severity="note",
            rule="precision.pairing",
            role="ok",
            subject=target,
            message=say(
                TEXTS,
                "note",
                lang,
                counts=", ".join(say(TEXTS, f"note-{key}", lang, n=n) for key, n in counts.items() if n),
                target=target,
                golden=golden,
                sure=say(TEXTS, sure_word(confidence), lang),
                why=why_words(int(pairing.evidence[call]), lang),
            ),
            next_step=say(TEXTS, "next-note", lang),
            figures={
                "n_not_by_name": n,
                "n_groups": groups,
                "n_recomputed": copies,
                "n_doubtful": doubtful,
                "least_confidence": confidence,
            },
        )
    ]
