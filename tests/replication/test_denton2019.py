"""The figures of Denton et al. 2019 that can be checked: their Table 1 against itself, and attributes of CelebA-HQ.

See docs/research/replication-denton2019.md. CelebA-HQ's attributes are needed for the second part, which is skipped
where they are absent.
"""

import numpy as np
import pyarrow.parquet as pq
import pytest
from places import ROOT, SHARED

TOTAL = (89.330, 14.416, 6.929)
TABLE_1 = {
    "Young": ((87.170, 17.727, 8.193), (90.022, 13.391, 6.509)),
    "Male": ((89.962, 16.548, 4.984), (88.356, 11.948, 11.190)),
    "Heavy_Makeup": ((88.735, 12.346, 9.769), (90.203, 19.046, 4.098)),
    "Wearing_Lipstick": ((88.254, 12.071, 11.267), (90.315, 17.521, 4.195)),
    "No_Beard": ((88.942, 10.683, 11.699), (89.396, 15.263, 6.352)),
    "5_o_Clock_Shadow": ((89.303, 14.739, 6.823), (89.569, 12.014, 8.128)),
    "Goatee": ((89.363, 14.667, 6.731), (88.634, 10.500, 13.016)),
}
"""Accuracy, FPR and FNR in per cent, without and with the attribute, as published."""
PAGE = (ROOT / "docs" / "research" / "replication-denton2019.md").read_text()
FILE = SHARED / "celebahq_attributes.parquet"


def smiling(rates):
    """The share of smiling that makes the accuracy of its error rates: accuracy = 1 - FPR (1 - s) - FNR s."""
    accuracy, fpr, fnr = rates
    return (100 - accuracy - fpr) / (fnr - fpr)


def shares(name):
    """The shares of images with the attribute by which two rows average to the total: of all, not smiling, smiling."""
    without, having = TABLE_1[name]
    return [(total - a) / (b - a) for total, a, b in zip(TOTAL, without, having, strict=True)]


def implied(name):
    """The correlation of attribute and smiling that the shares imply."""
    s = smiling(TOTAL)
    _, no, yes = shares(name)
    share = no * (1 - s) + yes * s
    return (yes - no) * np.sqrt(s * (1 - s) / (share * (1 - share)))


@pytest.mark.parametrize("name", TABLE_1)
def test_the_three_columns_of_table_1_agree(name):
    """The share by accuracy is that by FPR and FNR together, within what rounding and small differences leave."""
    by_accuracy, no, yes = shares(name)
    s = smiling(TOTAL)
    assert by_accuracy == pytest.approx(no * (1 - s) + yes * s, abs=0.01)


@pytest.fixture(scope="module")
def celeba():
    if not FILE.exists():
        pytest.skip(f"the attributes of CelebA-HQ are not in {SHARED}")
    table = pq.read_table(FILE)
    names = [name for name in table.column_names if name not in ("idx", "identity", "orig_file", "gender_mode")]
    assert len(names) == 40
    return {name: table[name].to_numpy().astype(float) for name in names}


def test_other_photographs_correlate_alike(celeba):
    """The attributes' order by their correlation with smiling is Table 1's; CelebA-HQ is another choice of images."""
    found = {name: float(np.corrcoef(celeba[name], celeba["Smiling"])[0, 1]) for name in TABLE_1}
    for name, value in found.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
        assert row.split("|")[5].strip() == f"{value:+.2f}".replace("0.", ".")
        assert value == pytest.approx(implied(name), abs=0.05)
