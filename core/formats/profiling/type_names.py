"""What the name of a kernel or collective says of its operator type, where no column tells it; task types.

What is told of names is inferred from how CANN builds names; a name of another form is given back as it is.
"""

from __future__ import annotations

import re

COMMUNICATION = "COMMUNICATION"
"""Task type of whole communication operations, as op_summary has it."""

_CORE_TYPES = {
    "KERNEL_AICORE": "AI_CORE",
    "KERNEL_AIVEC": "AI_VECTOR_CORE",
    "KERNEL_AICPU": "AI_CPU",
    "KERNEL_MIX_AIC": "MIX_AIC",
    "KERNEL_MIX_AIV": "MIX_AIV",
}
_HASH = re.compile(r"_[0-9a-f]{32}(?:_\d+)*(?=_|$)", re.ASCII)
_COLLECTIVE = re.compile(r"(hcom_[A-Za-z0-9]{1,40}_)_?[0-9_]*", re.ASCII)
_NUMBERED = re.compile(r"(trans_[A-Za-z0-9]{1,40})_\d{1,9}", re.ASCII)
_VARIANTS = ("AiCore", "AiCpu", "Common")
_MAX_NAME = 4096


def core_type_of(task_type: str) -> str:
    """The task type of a timeline or of msMonitor in the words of op_summary; others as they are."""
    return _CORE_TYPES.get(task_type, task_type)


def stem_of(name: str) -> str:
    """A name without what differs from call to call: the hash of a build, the number of a conversion or
    of a collective. "Custom_0a..4e_2_mix_aic" -> "Custom_mix_aic", "hcom_send__445_1" -> "hcom_send_".
    """
    if len(name) > _MAX_NAME:
        return name
    if found := _COLLECTIVE.fullmatch(name):
        return found[1]
    if found := _NUMBERED.fullmatch(name):
        return found[1]
    return _HASH.sub("", name) or name


def type_in(name: str) -> str:
    """The operator type in the name of a kernel; the name itself where it has none.

    aclnnMm_MatMulCommon_MatMulV2 -> MatMulV2, aclnnAdd_AddAiCore_Add_18 -> Add, trans_TransData_23 ->
    TransData, RmsNorm_3 -> RmsNorm, Add_<hash>_2_mix_aic -> Add, hcom_send__445_1 -> hcom_send_.
    """
    if len(name) > _MAX_NAME:
        return name
    if (found := _HASH.search(name)) and found.start():
        return name[: found.start()]
    stem = stem_of(name)
    if stem.startswith("trans_"):
        return stem[len("trans_") :] or stem
    head, _, last = stem.rpartition("_")
    is_numbered = bool(head) and last.isascii() and last.isdecimal()
    if stem.startswith("aclnn"):
        word = head if is_numbered else stem
        return word.rpartition("_")[2] or stem
    return head if is_numbered and "_" not in head else stem


def collective_type(name: str) -> str:
    """The type of a collective as kernel_details has it: hcom_allReduce__865_0_1@group -> hcom_allReduce_."""
    bare = name.partition("@")[0]
    if len(bare) > _MAX_NAME:
        return name
    if found := _COLLECTIVE.fullmatch(bare):
        return found[1]
    return without_numbers(bare) or name


def without_numbers(name: str) -> str:
    """A name without the numbers behind it: "x__586_0_1" -> "x_". "" where there is nothing else."""
    left = name.rstrip("0123456789_")
    tail = name[len(left) :]
    if not tail[-1:].isdecimal():
        return name
    first = len(tail) - len(tail.lstrip("0123456789"))  # digits of the word itself: x2_3 -> x2
    parts = tail[first:].split("_")
    while parts and parts[-1]:
        parts.pop()
    return left + tail[:first] + "_".join(parts)


def without_variant(op_type: str) -> str:
    """'CastAiCore' -> 'Cast', 'MatMulCommon' -> 'MatMul': graphs write the variant behind the type."""
    for suffix in _VARIANTS:
        if op_type.endswith(suffix) and len(op_type) > len(suffix):
            return op_type[: -len(suffix)]
    return op_type
