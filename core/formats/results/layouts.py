"""Which tool wrote a result table and what its columns are for, by their names; never by place alone.

A name that stands there twice (msaccucmp's DataType and Address) means my side first, the golden one behind.
Columns that no layout names are figures: tools take algorithms of users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from npulse.core.dataclass import dataclass

FIGURE = "figure"
TEXT_ROLES = frozenset(
    """target golden io type target_dtype golden_dtype target_shape golden_shape verdict message stack
    target_checksum golden_checksum part text""".split()
)
"""Roles whose cells are texts, whatever they look like. Others: figure, statistic, number."""

STATISTICS: tuple[tuple[str, ...], ...] = (
    ("NPU max", "NPU min", "NPU mean", "NPU l2norm"),
    ("Bench max", "Bench min", "Bench mean", "Bench l2norm"),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How one tool's table is read.

    id: "msprobe.compare" and so on; tool: as people call it. wanted: columns, lower case, that are all there
    where it is this table. roles: lower-case header to role; of a header that may stand there twice the
    second one's is under "NAME#2". least: how many cells a row must have (0: all of the header).
    is_ordered: rows stand in the order of execution. says: what the tool says of a row by writing it at all
    ("error", "warning"). is_shown_only: it has no figures of two sides, nothing is judged by it.
    """

    id: str
    tool: str
    wanted: frozenset[str]
    roles: Mapping[str, str]
    least: int = 0
    is_ordered: bool = False
    says: str = ""
    is_shown_only: bool = False

    @property
    def kind(self) -> str:
        """The kind of artifact that such a table is."""
        return _KINDS.get(self.id, self.id)


_KINDS = {
    "atb.compare": "atb.compare_result",
    "msprobe.compare": "msprobe.compare_result",
    "msprobe.acc_check_details": "msprobe.acc_check",
    "msprobe.api_compare_details": "msprobe.api_precision_compare",
    "msprobe.merged": "msprobe.merge_result",
    "cann.single": "cann.compare_single",
    "cann.mapping": "cann.compare_mapping",
    "cann.compare": "cann.compare_result",
    "msit.compare": "msit.compare_result",
    "msit.logits": "msit.compare_result",
}


def _roles(**names: str) -> dict[str, str]:
    """Role to headers with '|' between them -> header to role."""
    return {
        header.strip().lower(): role.rstrip("_")
        for role, headers in names.items()
        for header in headers.split("|")
    }


def _layout(id_: str, tool: str, wanted: str, roles: dict[str, str], **more: Any) -> Layout:
    return Layout(id_, tool, frozenset(wanted.lower().split("|")), roles, **more)


_MSPROBE = _roles(
    target="NPU Name",
    golden="Bench Name",
    target_dtype="NPU Dtype",
    golden_dtype="Bench Dtype",
    target_shape="NPU Tensor Shape|NPU Shape",
    golden_shape="Bench Tensor Shape|Bench Shape",
    target_checksum="NPU MD5",
    golden_checksum="Bench MD5",
    statistic="NPU max|NPU min|NPU mean|NPU l2norm|Bench max|Bench min|Bench mean|Bench l2norm",
    verdict="Result|Accuracy Reached or Not",
    message="Err_message",
    stack="NPU_Stack_Info|NPU Stack Info",
    text="NPU Requires_grad|Bench Requires_grad|Requires_grad Consistent|Data_name|NPU CSV File"
    "|Bench CSV File|Dirty Valid Len|NPU P2POp op|NPU P2POp peer|Bench P2POp op|Bench P2POp peer",
)
_API = _roles(
    target="API Name",
    target_dtype="DEVICE Dtype",
    golden_dtype="Bench Dtype",
    target_shape="Shape",
    verdict="Status|比对结果|Forward Test Success|Backward Test Success",
    message="Message|Traceback|Traceback callback info",
    part="小值域判定结果|均方根误差判定结果|相对误差最大值判定结果|相对误差平均值判定结果|误差均衡性判定结果|inf/nan判定结果"
    "|相对误差判定结果|绝对误差判定结果|二进制一致错误率判定结果|ULP误差判定结果|双千指标判定结果|比对算法",
)
_MSACCUCMP = _roles(
    target="NPUDump|LeftOp",
    golden="GroundTruth|RightOp",
    io="TensorIndex",
    type="OpType",
    target_dtype="DataType",
    target_shape="Shape",
    message="CompareFailReason",
    verdict="IsPrecisionError",
    number="Index|OpSequence",
    text="Address|Address#2|OverFlow|NPUDumpPath|GroundTruthPath|IsNpuOps|IsOutputNode|StandardDeviation",
) | {"datatype#2": "golden_dtype"}
_SINGLE = _roles(number="Index", figure="NPUDump|GroundTruth|AbsoluteError|RelativeError") | {"#2": "io"}
_MSIT = _roles(
    target="my_data_path|file_name",
    golden="golden_data_path",
    type="my_op_type",
    target_dtype="my_dtype",
    golden_dtype="golden_dtype",
    target_shape="my_shape",
    golden_shape="golden_shape",
    verdict="passed",
    message="cmp_fail_reason",
    statistic="my_max_value|my_min_value|my_mean_value|golden_max_value|golden_min_value|golden_mean_value",
    number="token_id|data_id",
    text="golden_op_type|key",
)
_ATB = _roles(
    target="Target Data Name",
    golden="Golden Data Name",
    target_dtype="Target Data Type|Data Type",
    golden_dtype="Golden Data Type",
    target_shape="Target Data Shape|Data Shape",
    golden_shape="Golden Data Shape",
    statistic="Target Max|Target Min|Target Mean|Target Norm|Golden Max|Golden Min|Golden Mean|Golden Norm",
    text="Device and PID|Target Device and PID|Golden Device and PID",
    number="Execution Count|Target Execution Count|Golden Execution Count",
)
_FREE = _roles(
    target="api_name",
    target_dtype="dtype",
    target_shape="shape",
    text="pert_mode|stage|output_index",
    number="rank|step",
)
_MERGED = _roles(target="NPU Name")

LAYOUTS: tuple[Layout, ...] = (
    _layout("atb.compare", "msprobe compare -m atb", "target data name|golden data name", _ATB),
    _layout("msprobe.compare", "msprobe compare", "npu name|bench name", _MSPROBE, is_ordered=True),
    _layout("msprobe.acc_check_details", "msprobe acc_check", "api name|bench dtype|device dtype", _API),
    _layout(
        "msprobe.api_compare_details", "msprobe api_precision_compare", "api name|比对算法", _API, least=2
    ),
    _layout(
        "msprobe.acc_check", "msprobe acc_check", "api name|forward test success|backward test success",
        _API, least=3,
    ),
    _layout("msprobe.free_benchmark", "msprobe free_benchmark", "pert_mode|stage|api_name|max_rel", _FREE,
        says="warning",
    ),
    _layout("cann.single", "msaccucmp", "npudump|groundtruth|absoluteerror|relativeerror", _SINGLE,
        is_shown_only=True,
    ),
    _layout("cann.mapping", "msaccucmp", "npudump|npudumppath|groundtruthpath|tensorindex", _MSACCUCMP,
        is_shown_only=True,
    ),
    *(
        _layout("cann.compare", "msaccucmp", wanted, roles)
        for wanted, roles in (
            ("index|npudump|groundtruth|tensorindex", _MSACCUCMP),
            ("index|npudump|groundtruthpath", {**_MSACCUCMP, "groundtruthpath": "golden"}),
            ("index|leftop|rightop|tensorindex", _MSACCUCMP),
        )
    ),
    *(
        _layout(id_, "msit llm compare", wanted, _MSIT)
        for id_, wanted in (
            ("msit.compare", "token_id|golden_data_path|my_data_path"),
            ("msit.logits", "token_id|file_name|cmp_fail_reason"),
            ("msit.compare", "token_id|cmp_fail_reason"),
        )
    ),
    _layout("msprobe.merged", "msprobe merge_result", "npu name|rank0", _MERGED, is_ordered=True,
        is_shown_only=True,
    ),
)  # fmt: skip
MSPROBE = next(layout for layout in LAYOUTS if layout.id == "msprobe.compare")
MERGED = next(layout for layout in LAYOUTS if layout.id == "msprobe.merged")
DIFFERENCE = Layout(
    "msprobe.difference", "msprobe compare -da", frozenset(), _MSPROBE | {"rank": "number"}, says="error"
)
CHECKPOINT = Layout(
    "msprobe.checkpoint",
    "msprobe config_check",
    frozenset(),
    _roles(target="param", target_shape="shape", number="numel"),
)
FILES = Layout("cann.files", "msaccucmp file_compare", frozenset(), _roles(target="File"))
OUTPUTS = Layout(
    "polygraphy.outputs",
    "polygraphy run (outputs, compared here)",
    frozenset(),
    _ATB | _roles(target="Output", golden="Golden Output", number="Iteration"),
)
"""Of documents and texts, which are recognised by other means than a header."""


SEPARATORS = (",", ";", "\t", "|")
"""What stands between cells; a spreadsheet that stores a csv anew takes that of its country."""


def separator_of(header: str) -> str:
    """What separates cells under this first row; a comma where it is no table that is known."""
    found = (one for one in SEPARATORS if one in header and layout_of(header.split(one)) is not None)
    return next(found, SEPARATORS[0])


def layout_of(headers: Sequence[str]) -> Layout | None:
    """The layout of a header, None where it is no result table that is known."""
    names = frozenset(bare(header).lower() for header in headers)
    found = next((layout for layout in LAYOUTS if layout.wanted <= names), None)
    if found is None and "npu name" in names and any(name.startswith("rank") for name in names):
        return MERGED
    return found


def roles_of(layout: Layout, headers: Sequence[str]) -> list[str]:
    """The role of each column."""
    seen: dict[str, int] = {}
    roles = []
    for place, header in enumerate(headers, 1):
        name = bare(header).lower()
        n = seen[name] = seen.get(name, 0) + 1
        key = name if n == 1 else f"{name}#{n}"
        roles.append(layout.roles.get(key) or layout.roles.get(f"#{place}") or FIGURE)
    return roles


def bare(header: str) -> str:
    """A header without what stands around it."""
    return header.strip(" \t\r\n\ufeff\"'")
