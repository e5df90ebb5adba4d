"""What every log format must do (`tests.suites`); a new format is tested by itself through its example."""

import pytest

from rankone import clicks
from rankone.errors import InputError
from tests.suites.formats import FormatSuite


class TestEveryFormat(FormatSuite):
    @pytest.fixture(autouse=True, params=sorted(clicks.FORMATS.known()))
    def _each(self, request):
        self.format = clicks.FORMATS.get(request.param)


def test_unknown_formats_are_refused(tmp_path):
    (tmp_path / "log").write_bytes(b"1\t2\n")
    with pytest.raises(InputError, match="No such log format:"):
        clicks.read(tmp_path / "log", "excel")
