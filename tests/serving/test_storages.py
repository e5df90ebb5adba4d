"""What every kind of database must do (`rankone.testing`); a new file in `rankone.serving.storage` is tested by itself."""

import pytest

from rankone.testing import StorageSuite


class TestEveryStorage(StorageSuite):
    @pytest.fixture(autouse=True)
    def _each(self, db):
        self.db = db
