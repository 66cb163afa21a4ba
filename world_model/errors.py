"""Errors of a user's making: one sentence with the thing, the value and the mend."""


class SimforcingError(Exception):
    """Base of every error that a user can mend; its text is one sentence."""


class ContractError(SimforcingError, ValueError):
    """Two sides disagree about what the numbers mean."""


class InputError(SimforcingError, ValueError):
    """An argument has the wrong shape, type or range."""


class DataError(SimforcingError, ValueError):
    """A file or folder on disk is damaged, foreign or incomplete."""


class MissingExtraError(SimforcingError, ImportError):
    """An optional dependency is not installed; the text holds its pip line."""
