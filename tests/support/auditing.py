"""An audit with any of its settings as keywords."""

import transect
from transect.experiment.audit_request import AuditRequest, with_settings


def request(**settings):
    return with_settings(AuditRequest(), settings)


def audit(targets, *, quiet=True, **settings):
    return transect.audit(targets, request(**settings), quiet=quiet)
