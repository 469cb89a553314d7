"""An example of all three kinds of plug-ins, for a quantised model. See docs/plugins.md.

Try it on the sample run:

    npulse plugin check docs/examples/quantised.py
    npulse performance RUN --plugin docs/examples/quantised.py
    npulse plugin add docs/examples/quantised.py -n quantised
"""

import csv

import numpy as np


class PowerLog:
    """Reader: the log of a power meter, lines of `time_s,power_w`."""

    kind = "lab.power"
    title = ("power meter log", "功率计日志")
    area = "performance"
    patterns = ["power*.csv"]
    magic = b"time_s,power_w"

    def read(self, path):
        rows, problems = [], []
        with open(path, newline="") as file:
            for line, row in enumerate(csv.DictReader(file), start=2):
                try:
                    rows.append({"time_s": float(row["time_s"]), "power_w": float(row["power_w"])})
                except (TypeError, ValueError):
                    problems.append({"message": "not two numbers", "line": line})
        return rows, problems


class SignFlips:
    """Metric: the share of elements whose sign is not the golden one's, as too coarse a scale makes it."""

    name = "sign_flips"
    unit = "ratio"
    better = "lower"

    def measure(self, target, golden):
        if golden.size == 0:
            return float("nan")
        return float(np.mean(np.sign(target) != np.sign(golden)))


class QuantisedShare:
    """Analysis: the share of the matrix products' time that is quantised, and the energy by a power meter."""

    name = "quantised share"
    area = "performance"

    def analyze(self, data):
        findings = []
        if "performance" in data.reports:
            findings += self._share(data)
        for artifact in data.artifacts:
            if artifact["kind"] == "lab.power":
                findings.append(self._energy(artifact, data.rows(artifact["path"])))
        return findings

    def _share(self, data):
        try:
            table = data.table("performance")
        except KeyError:
            return []
        products = table[table["subject"].str.contains("MatMul", case=False)]
        total_us = float(products["total_us"].sum())
        if not total_us:
            return []
        quantised_us = float(products[products["subject"].str.startswith("Quant")]["total_us"].sum())
        share = 100 * quantised_us / total_us
        figures = {"quantised_us": quantised_us, "products_us": total_us, "quantised_percent": share}
        return [
            {
                "rule": "share",
                "severity": "note" if share >= 90 else "warning",
                "role": "ok" if share >= 90 else "suspect",
                "subject": str(products.iloc[0]["subject"]),
                "message": f"{share:.1f} % of the time of matrix products is quantised",
                "next": "" if share >= 90 else "Look at the layers that the converter left out.",
                "figures": figures,
            }
        ]

    def _energy(self, artifact, rows):
        time_s = np.array([row["time_s"] for row in rows])
        power_w = np.array([row["power_w"] for row in rows])
        joules = float(np.sum((power_w[1:] + power_w[:-1]) / 2 * np.diff(time_s)))
        return {
            "rule": "energy",
            "severity": "note",
            "role": "ok",
            "subject": artifact["path"],
            "message": f"{joules:.1f} J from the first to the last reading of the meter",
            "figures": {"energy_j": joules},
            "location": {"artifact": artifact["path"]},
        }
