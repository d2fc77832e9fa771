"""A manifest names what changed in a run, what is missing and what was added; a signature is of its bytes."""

import hashlib
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run_here as command
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from small_folders import FOLDERS

import transect
from transect.errors import BadInput
from transect.runs import manifest

PEM, PKCS8, OPENSSH = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.OpenSSH
PLAIN = serialization.NoEncryption()
SHARES = {"light_level": [-4.0, 0.0], "share": [0.5, 0.5]}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    folder = shutil.copytree(FOLDERS / "version-1", tmp_path_factory.mktemp("reported") / "run")
    (folder / "numbers.json").unlink()
    transect.report(folder, quiet=True)
    return folder


@pytest.fixture
def run(reported, tmp_path):
    return shutil.copytree(reported, tmp_path / "run")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Private and public halves of two pairs, in PEM and in OpenSSH's form."""
    folder = tmp_path_factory.mktemp("keys")
    for name, private, public, encoding in (
        ("auditor", PKCS8, serialization.PublicFormat.SubjectPublicKeyInfo, PEM),
        ("other", OPENSSH, serialization.PublicFormat.OpenSSH, serialization.Encoding.OpenSSH),
    ):
        key = Ed25519PrivateKey.generate()
        (folder / name).write_bytes(key.private_bytes(PEM, private, PLAIN))
        (folder / f"{name}.pub").write_bytes(key.public_key().public_bytes(encoding, public))
    return folder


def test_a_report_writes_the_manifest_of_every_file(run):
    listed = json.loads((run / "manifest.json").read_text())["files"]
    there = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert set(listed) == there - {"manifest.json", "run.lock", "log.jsonl"}
    found = manifest.check(run)
    assert found.holds
    assert found.unchanged == len(listed) == 9


@pytest.mark.parametrize(
    "name", ["run.json", "images/part-00000.parquet", ".digests/images/part-00000.sha256", "results.json"]
)
def test_a_changed_byte_anywhere_is_named(run, name):
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(content)
    found = manifest.check(run)
    assert (found.changed, found.missing, found.added) == ((name,), (), ())
    assert not found.holds


def test_missing_and_added_files_are_named(run):
    (run / "effects.parquet").unlink()
    shutil.copy(run / "images" / "part-00000.parquet", run / "images" / "part-00001.parquet")
    (run / "settings.json").write_text("{}")
    (run / "thesis.txt").write_text("not of the run")
    found = manifest.check(run)
    assert (found.changed, found.missing) == ((), ("effects.parquet",))
    assert found.added == ("images/part-00001.parquet", "settings.json")


def test_a_link_in_the_place_of_a_file_is_not_that_file(run, tmp_path):
    (tmp_path / "elsewhere").write_bytes((run / "results.json").read_bytes())
    (run / "results.json").unlink()
    (run / "results.json").symlink_to(tmp_path / "elsewhere")
    found = manifest.check(run)
    assert (found.missing, found.added) == (("results.json",), ("results.json",))


def test_files_of_studies_and_of_the_control_are_covered(run, tmp_path):
    folder = tmp_path / "several"
    shutil.copytree(run, folder / "studies" / "one")
    shutil.copytree(run, folder / "studies" / "one" / "negative-control")
    manifest.write(folder)
    (folder / "studies" / "one" / "negative-control" / "run.json").write_text("{}")
    assert manifest.check(folder).changed == ("studies/one/negative-control/run.json",)


@pytest.mark.parametrize("name", ["auditor", "other"])
def test_a_signature_is_of_one_key_and_these_bytes(run, keys, name):
    manifest.sign(run, keys / name)
    other = {"auditor": "other", "other": "auditor"}[name]
    assert manifest.check(run, keys / f"{name}.pub").signed is True
    assert manifest.check(run, keys / f"{other}.pub").signed is False
    text = (run / "manifest.json").read_text()
    (run / "manifest.json").write_text(text.replace('"files": {', '"files": { '))  # the same record in other bytes
    found = manifest.check(run, keys / f"{name}.pub")
    assert not found.changed
    assert found.signed is False
    assert not found.holds


def test_a_new_report_takes_the_signature_away(run, keys):
    manifest.sign(run, keys / "auditor")
    transect.report(run, shares=[SHARES], quiet=True)
    with pytest.raises(BadInput, match=r"no manifest\.sig; sign it: transect verify run .* --sign KEY"):
        manifest.check(run, keys / "auditor.pub")


def test_what_is_not_as_written_is_not_signed(run, keys):
    (run / "results.json").write_text("{}")
    with pytest.raises(BadInput, match=r"expected the files of its manifest, got results\.json changed; restore them"):
        manifest.sign(run, keys / "auditor")
    assert not (run / "manifest.sig").exists()


def test_another_file_is_no_key(run, keys, tmp_path):
    rsa = generate_private_key(65537, 2048)
    (tmp_path / "rsa").write_bytes(rsa.private_bytes(PEM, PKCS8, PLAIN))
    locked = Ed25519PrivateKey.generate().private_bytes(PEM, PKCS8, serialization.BestAvailableEncryption(b"word"))
    (tmp_path / "locked").write_bytes(locked)
    for path, message in (
        (tmp_path / "rsa", "got one of the kind RSA; make a pair"),
        (keys / "auditor.pub", "got the public half; give auditor"),
        (tmp_path / "locked", "expected a key without a passphrase, got an encrypted one"),
    ):
        with pytest.raises(BadInput, match=message):
            manifest.sign(run, path)
    manifest.sign(run, keys / "auditor")
    with pytest.raises(BadInput, match="got the private half"):
        manifest.check(run, keys / "auditor")


def test_a_report_does_not_make_changed_answers_those_of_the_run(run, capsys):
    """Who changes answers, their digests, the description of the run or adds a part, and reports again, is found."""
    answers = next((run / "predictions").rglob("part-00000.parquet"))
    digest = run / ".digests" / answers.relative_to(run).with_suffix(".sha256")
    table = pq.read_table(answers)
    flipped = pa.array([not failed for failed in table["failed"].to_pylist()])
    changed = table.set_column(table.column_names.index("failed"), "failed", flipped)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), answers)
    digest.write_text(hashlib.sha256(answers.read_bytes()).hexdigest())
    (run / "predictions" / "evil.parquet").write_bytes(b"planted")
    transect.report(run, quiet=True)
    said = capsys.readouterr().err
    assert f"transect verify run {run}" in said
    assert "SHA-256 was kept" in said
    found = manifest.check(run)
    assert set(found.changed) == {path.relative_to(run).as_posix() for path in (answers, digest)}
    assert found.added == ("predictions/evil.parquet",)


@pytest.mark.integration
def test_a_report_of_an_unchanged_run_says_nothing_of_files(run, capsys):
    written = (run / manifest.MANIFEST).read_bytes()
    transect.report(run, quiet=True)
    assert (run / manifest.MANIFEST).read_bytes() == written
    before = json.loads(written)["files"]
    transect.report(run, shares=[SHARES], quiet=True)
    assert "SHA-256" not in capsys.readouterr().err
    after = json.loads((run / manifest.MANIFEST).read_text())["files"]
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"results.json", "effects.parquet", "report.html", "report-numbers.html"}
    assert manifest.check(run).holds


def test_the_command_says_what_is_wrong_and_leaves_with_1(run, keys):
    done = command("verify", "run", str(run), "--sign", str(keys / "auditor"))
    assert done.returncode == 0, done.stderr
    assert "9 files as written. Signed: " in done.stdout
    done = command("verify", "run", str(run), "--key", str(keys / "other.pub"))
    assert (done.returncode, "The signature does not match" in done.stdout) == (1, True)
    hostile = run / "images" / "\x1b[2J.parquet"
    hostile.write_text("")
    (run / "report.html").unlink()
    done = command("verify", "run", str(run))
    assert done.returncode == 1
    assert "8 files as written, 1 missing, 1 added." in done.stdout
    assert "report.html" in done.stdout
    assert "\x1b" not in done.stdout
    body = json.loads(command("verify", "run", str(run), "--json").stdout)
    assert body["run"]["files"]["missing"] == ["report.html"]
