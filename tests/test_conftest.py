"""What keeps the tests at home is tested as well."""

from __future__ import annotations

import os
import socket

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1"])
def test_a_connection_to_elsewhere_is_refused(host: str) -> None:
    with socket.socket() as connection, pytest.raises(RuntimeError, match="stay on this machine"):
        connection.connect((host, 9))


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_no_test_can_find_a_model_by_the_environment() -> None:
    assert not [name for name in os.environ if name.startswith("OPENAI_")]
