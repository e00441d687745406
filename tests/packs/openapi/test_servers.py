from __future__ import annotations

from typing import Any

import pytest

from agentloop.errors import InvalidInput
from agentloop.packs.openapi import read_api
from tests.packs.openapi.documents import document

VARIABLES: dict[str, Any] = {
    "servers": [
        {
            "url": "https://{region}.api.example:{port}/{version}/",
            "variables": {
                "region": {"default": "eu", "enum": ["eu", "us"]},
                "port": {"default": "8443"},
                "version": {"default": "v1"},
            },
        }
    ]
}


def server(source: dict[str, Any], **options: Any) -> str:
    [found] = read_api(source, **options).operations.values()
    return found.server


def test_the_first_server_counts_without_the_slash_at_its_end() -> None:
    assert server(document(servers=[{"url": "https://a.example/v1/"}, {"url": "https://b.example"}])) == (
        "https://a.example/v1"
    )


def test_a_base_url_given_takes_the_place_of_all() -> None:
    source = document()
    source["paths"]["/things"]["get"]["servers"] = [{"url": "https://other.example"}]
    assert server(source, base_url="http://127.0.0.1:8080/x/") == "http://127.0.0.1:8080/x"


def test_no_server_at_all_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="names no server: give base_url"):
        read_api(document(servers=[]))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "https://eu.api.example:8443/v1"),
        ({"region": "us", "port": "1"}, "https://us.api.example:1/v1"),
    ],
)
def test_variables_are_filled_in(given: dict[str, str], expected: str) -> None:
    assert server(document(**VARIABLES), server_variables=given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"region": "asia"}, "#/servers/0/variables/region: 'region' is one of eu, us, not 'asia'"),
        ({"regio": "eu"}, "no server has a variable 'regio'; did you mean \"region\"?"),
        ({"zzz": "eu"}, "no server has a variable 'zzz'; there are: port, region, version"),
        ({"port": 8443}, "server_variables: 'port' must be a string, not 8443"),
    ],
)
def test_variables_that_do_not_fit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_api(document(**VARIABLES), server_variables=given)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("one", "said"),
    [
        ({"url": "https://{a}.example"}, "#/servers/0/variables: 'a' of the URL is missing"),
        ({"url": "https://{a}.example", "variables": {"a": {}}}, "#/servers/0/variables/a: 'default' is missing"),
        ({"url": "/v1"}, "#/servers/0/url: '/v1' is relative: give base_url, or url, the document's own address"),
        ({"url": "ftp://a.example"}, "#/servers/0/url: ftp: addresses are not reachable"),
        ({"url": "https://a.example/?key=1"}, "#/servers/0/url: a base URL ends before ? and #"),
        ({"url": "https://me:pw@a.example/"}, "#/servers/0/url: a base URL holds no user name and password"),
        ({"url": 5}, "#/servers/0/url: must be a string, not a number"),
        ({"url": "https://[::1"}, "#/servers/0/url: "),
    ],
)
def test_servers_that_are_none(one: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_api(document(servers=[one]))
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("relative", "expected"),
    [
        ("/v2", "https://docs.example/v2"),
        ("v2", "https://docs.example/api/v2"),
        ("../v2/", "https://docs.example/v2"),
        ("//other.example/v2", "https://other.example/v2"),
    ],
)
def test_a_relative_server_is_read_against_the_address_of_the_document(relative: str, expected: str) -> None:
    assert server(document(servers=[{"url": relative}]), url="https://docs.example/api/openapi.json") == expected


def test_without_servers_the_address_of_the_document_counts() -> None:
    source = document()
    del source["servers"]
    assert server(source, url="https://docs.example/api/openapi.json") == "https://docs.example"


def test_servers_of_paths_and_operations_are_nearer() -> None:
    source = document()
    source["paths"]["/things"]["servers"] = [{"url": "https://path.example/{v}", "variables": {"v": {"default": "1"}}}]
    source["paths"]["/things"]["put"] = {
        "operationId": "put",
        "servers": [{"url": "https://operation.example"}],
        "responses": {},
    }
    api = read_api(source, server_variables={"v": "2"})

    assert api.base == "https://api.example/v1"
    assert api.operations["call"].server == "https://path.example/2"
    assert api.operations["put"].server == "https://operation.example"
