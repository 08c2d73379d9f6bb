import sys

import pytest
from processes import BUILD, ROOT, shortlist_server

sys.path.append(str(ROOT / "tests/support"))
from tiny_encoder import write_tiny_encoder  # noqa: E402


def pytest_configure():
    BUILD.mkdir(parents=True, exist_ok=True)
    for log in BUILD.glob("*.log"):
        log.unlink()


@pytest.fixture(scope="session")
def server():
    """One server for all tests that leave it unchanged; it must end without error. It also drafts where that does not pay
    on this machine."""
    with shortlist_server("server", "--admin-key", "of-the-admin", "--draft-p-min", "0.35") as process:
        yield process
        assert process.stop() == 0


@pytest.fixture(scope="session")
def judge():
    """The directory of a tiny cross-encoder."""
    return write_tiny_encoder(BUILD / "judge", "bert_classification")


@pytest.fixture(scope="session")
def encoder_flags(judge):
    """all-MiniLM-L6-v2 as "minilm", and the cross-encoder."""
    from encoders import MINILM  # not in every environment

    return "--embed-model", MINILM, "--embed-model-name", "minilm", "--rerank-model", judge


@pytest.fixture(scope="session")
def encoders(encoder_flags):
    """A server with only these encoders; it must end without error."""
    with shortlist_server("encoders", *encoder_flags) as process:
        yield process
        assert process.stop() == 0
