"""Exceptions of the package. Their texts are those of the command."""


class Error(Exception):
    """An input or an option that cannot be used; the text says what was expected."""


class MissingError(Error, FileNotFoundError):
    """A path that does not exist."""
