import pytest
from processes import BUILD, shortlist_server


def pytest_configure():
    BUILD.mkdir(parents=True, exist_ok=True)
    for log in BUILD.glob("*.log"):
        log.unlink()


@pytest.fixture(scope="session")
def server():
    """One server for all tests that leave it as it was; it has to end well."""
    with shortlist_server("server", "--admin-key", "of-the-admin") as process:
        yield process
        assert process.stop() == 0
