"""`python -m lazuli_storage` is `lazuli`."""

from . import lazuli

lazuli()
