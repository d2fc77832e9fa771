"""What every job's result offers: JSON that fits its schema, rows, a page, a view for notebooks."""

from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pyarrow as pa

from transect.runs.result import JobResult, json_schema


@dataclass(frozen=True, slots=True)
class Rate:
    group: str
    rate: float


@dataclass(frozen=True, slots=True)
class Numbers:
    rates: tuple[Rate, ...]
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Rates(JobResult):
    numbers: Numbers

    @property
    def table(self):
        return pa.table({"rate": [rate.rate for rate in self.numbers.rates]})

    def report(self, path):
        return Path(path) / "page.html"

    def headline(self):
        return "b < a"

    def rows(self):
        return ["group"], [[rate.group] for rate in self.numbers.rates]


RESULT = Rates(Numbers((Rate("a", 0.5), Rate("<b>", float("nan")))))


def test_the_json_fits_the_schema_and_nan_is_null():
    made = RESULT.to_json()
    assert made == {"rates": [{"group": "a", "rate": 0.5}, {"group": "<b>", "rate": None}], "out": None}
    schema = json_schema(Numbers, "rates", 1)
    jsonschema.validate(made, schema)
    assert schema["$id"] == "transect/rates/1"


def test_the_view_for_notebooks_escapes_what_others_wrote():
    shown = RESULT._repr_html_()
    assert "<p>b &lt; a</p>" in shown
    assert "<td>&lt;b&gt;</td>" in shown
