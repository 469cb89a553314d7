"""Options that only `npulse precision` has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ReferenceOption = Annotated[
    Path | None, typer.Option("--reference", "-r", help="The golden capture, in place of the second path.")
]
TargetOption = Annotated[
    Path | None, typer.Option("--target", "-t", help="The capture to judge, in place of the first path.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="Documents' form: output_dir, compare, dump_list (or as first path)."),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Figure that leads: cosine, relative_error, ..., veRL, fastRL; several."),
]
ErrorThresholdOption = Annotated[
    float | None,
    typer.Option("--error-threshold", help="Limit of rel_l2, or of the --metric: beyond it is an error."),
]
CompareModeOption = Annotated[
    str | None,
    typer.Option("--compare-mode", help="layerwise, network (outputs alone) or single (--operator)."),
]
OperatorOption = Annotated[
    str | None, typer.Option("--operator", help="This call, module or API alone (globs: '*linear*').")
]
ByRankOption = Annotated[bool, typer.Option("--by-rank", help="With --operator: the ranks side by side.")]
RanksOption = Annotated[
    str | None,
    typer.Option("--ranks", help="TARGET:GOLDEN ranks where a side has them in parts: '0,1:0;2,3:1'."),
]
LayerOption = Annotated[
    list[str] | None, typer.Option("--layer", help="Figures of these calls alone, as '*conv*'; several.")
]
InputsOption = Annotated[
    bool, typer.Option("--inputs", help="Only data and parameters before any operator: are they equal?")
]
PrecisionMapOption = Annotated[
    str | None,
    typer.Option("--precision-map", help="Operators to dtypes: 'softmax=fp32,*attn*=bf16', or a file of it."),
]
DtypeOption = Annotated[str | None, typer.Option("--dtype", help="Type of raw .bin elements: float16 ...")]
ShapeOption = Annotated[str | None, typer.Option("--shape", help="Their shape: 16,10240.")]
FusionRuleOption = Annotated[
    Path | None,
    typer.Option("--fusion-rule", help="JSON of a compiled model (atc --mode=1), for golden .npy files."),
]
VerbosityOption = Annotated[
    int,
    typer.Option(
        "-v", "--verbosity", min=0, max=3, help="0: the first finding; 1: no notes; 2: all; 3: all figures."
    ),
]
PairingOption = Annotated[
    str, typer.Option("--pairing", help="How calls are paired: auto, or name for equal names alone.")
]
MappingOption = Annotated[
    list[Path] | None,
    typer.Option("--mapping", help="msprobe's data, cell or api mapping YAML; several are read in turn."),
]
WriteMappingOption = Annotated[
    Path | None,
    typer.Option(
        "--write-mapping",
        help="Write the pairs as msprobe's mapping YAML: cell or api by the file's name, else data.",
    ),
]
GoldenBaselineOption = Annotated[
    str | None,
    typer.Option(
        "--baseline", help="Keep this verified capture as the golden one of those beside it; none forgets it."
    ),
]
TensorsOption = Annotated[
    str,
    typer.Option("--tensors", help="all, or where-needed: of calls that recorded statistics point to."),
]
