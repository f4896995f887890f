"""The same small files as the tests of the job."""

from tests.job.conftest import files, no_seed

__all__ = ["files", "no_seed"]
