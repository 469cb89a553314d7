"""The protocols of plug-ins: what readers, metrics and analyses of others have to be."""

from npulse.core.plugins import AnalysisData, AnalysisPlugin, MetricPlugin, ReaderPlugin

__all__ = ["AnalysisData", "AnalysisPlugin", "MetricPlugin", "ReaderPlugin"]
