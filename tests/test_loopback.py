"""No proxy stands before this machine's own addresses."""

import urllib.request

import pytest

from nightgarden.loopback import is_here, no_proxy


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:80/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8/v1", True),
        ("https://api.example.org/v1", False),
    ],
)
def test_no_proxy_stands_before_this_machine(url: str, here: bool) -> None:
    assert is_here(url) is here


def test_what_the_person_said_stays_and_this_machine_joins() -> None:
    assert no_proxy({"NO_PROXY": "intranet.example, localhost"})["no_proxy"] == "intranet.example,localhost,127.0.0.1,::1"


def test_said_twice_is_said_once() -> None:
    once = no_proxy({})
    assert no_proxy(once) == once


@pytest.mark.parametrize(("host", "past"), [("127.0.0.1:4200", True), ("localhost:5000", True), ("example.org", False)])
def test_the_proxy_is_passed_by_for_this_machine_alone(host: str, past: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name, value in no_proxy({}).items():
        monkeypatch.setenv(name, value)
    assert bool(urllib.request.proxy_bypass(host)) is past
