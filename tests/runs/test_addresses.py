"""An address says where a run is, and never how one gets in."""

from pathlib import Path

import pytest

from transect.errors import BadInput
from transect.runs.addresses import checked, is_address


@pytest.mark.parametrize(
    "text",
    [
        *("s3://bucket/run", "gs://bucket", Path("s3://bucket/run")),
        *("s3:///bucket/run", "file:///srv/run", "s3:////a", "s3:/", "s3:///"),
    ],
)
def test_a_scheme_makes_an_address(text):
    assert is_address(text)


@pytest.mark.parametrize("text", ["runs/demo", "/srv/a", "C:/runs", r"C:\runs", "a:b", "", "opencv:smile"])
def test_a_path_is_none(text):
    assert not is_address(text)


def test_a_path_of_python_that_lost_a_slash_is_the_same_address():
    assert checked(Path("s3://bucket/run")) == checked("S3://bucket/run/") == "s3://bucket/run"


def test_an_account_of_azure_is_no_credential():
    address = "abfss://images@mine.dfs.core.windows.net/run"
    assert checked(f"{address}/") == checked(Path(address)) == address


@pytest.mark.parametrize(
    "address",
    [
        "s3://KEY:HUN/TER@bucket/run",
        "s3://HUNTER@bucket",
        "s3://bucket/run?X-Amz-Signature=HUNTER",
        "az://bucket/run#HUNTER",
        "s3://images@mine.dfs.core.windows.net/run",
        "abfss://HUNTER@mine.dfs.core.windows.net.example.org/run",
    ],
)
def test_credentials_are_refused_and_not_repeated(address):
    with pytest.raises(BadInput, match="expected an address") as error:
        checked(address)
    assert "HUN" not in str(error.value)
    assert "KEY:" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("s3:///run", "one without a bucket; add it after two slashes"),
        ("s3://buck et/run", "an invalid bucket name"),
        ("s3://bucket:80/run", "an invalid bucket name"),
        ("s3://bucket/../other", "another path"),
        ("s3://bucket/a%2e%2e/b", "another path"),
        ("https://server/run", "expected s3://, gs:// or az://; give a folder"),
    ],
)
def test_what_no_run_can_be_written_to_is_refused(address, found):
    with pytest.raises(BadInput, match=found):
        checked(address)
