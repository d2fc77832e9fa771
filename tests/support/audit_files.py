"""Audits that a TOML file asks for."""

from transect.experiment.audit_file import read_settings
from transect.experiment.audit_request import AuditRequest, with_settings
from transect.experiment.presets import with_preset


def read_request(path):
    """The request in a TOML file, as `transect audit --config` takes it."""
    return with_settings(AuditRequest(), with_preset(read_settings(path)))
