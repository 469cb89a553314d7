"""The protocols of plug-ins: what readers, metrics, analyses and references of others have to be.

`use(["acme.py"])` is what --plugin is on the command line, `use(off=True)` what --no-plugins is.
"""

from npulse.core.plugins import AnalysisData, AnalysisPlugin, MetricPlugin, ReaderPlugin, ReferencePlugin, use

__all__ = ["AnalysisData", "AnalysisPlugin", "MetricPlugin", "ReaderPlugin", "ReferencePlugin", "use"]
