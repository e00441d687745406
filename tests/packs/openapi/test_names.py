from __future__ import annotations

import pytest

from agentloop.packs.openapi.names import derived, distinct, keys, near, sanitised, slug


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("pet-id", "pet_id"),
        ("123abc", "_123abc"),
        ("", "_"),
        ("a b/c[d]", "a_b_c_d_"),
        ("getPet", "getPet"),
        ("größe", "gr_e"),
        ("__proto__", "_proto_"),
    ],
)
def test_sanitised(name: str, fit: str) -> None:
    assert sanitised(name) == fit


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/pets", "getPets"),
        ("GET", "/pets/{petId}/photos", "getPetsByPetIdPhotos"),
        ("DELETE", "/pets/{pet-id}", "deletePetsByPetId"),
        ("GET", "/", "get"),
        ("PUT", "/v1/a.b/{x}{y}", "putV1ABByXByY"),
    ],
)
def test_an_operation_without_an_id_is_named_after_method_and_path(method: str, path: str, name: str) -> None:
    assert derived(method, path) == name


def test_names_that_come_again_are_numbered() -> None:
    assert distinct(["getPets", "getPets", "getPets"]) == ["getPets", "getPets2", "getPets3"]


def test_a_number_takes_nobody_elses_name() -> None:
    assert distinct(["a", "a", "a2", "help"], ["help"]) == ["a", "a3", "a2", "help2"]


@pytest.mark.parametrize(("title", "name"), [("Pet Store API!!", "pet-store-api"), ("", ""), ("Ä!", "")])
def test_slug(title: str, name: str) -> None:
    assert slug(title) == name


def test_parameters_keep_their_own_names() -> None:
    assert keys([("path", "pet-id"), ("query", "pet_id"), ("query", "page[size]")]) == [
        "pet-id",
        "pet_id",
        "page[size]",
    ]


def test_a_name_in_two_places_has_its_place_before_it() -> None:
    found = keys([("path", "id"), ("query", "id"), ("query", "q"), ("query", "body")], ["body"])
    assert found == ["path_id", "query_id", "q", "query_body"]


def test_no_two_parameters_are_called_the_same() -> None:
    found = keys([("path", "id"), ("query", "id"), ("header", "path_id"), ("query", "path_id_")])
    assert len(set(found)) == 4
    assert found[2:] == ["path_id", "path_id_"]


@pytest.mark.parametrize(("name", "hint"), [("pageSize", "page-size"), ("petID", "petId"), ("verbos", "verbose")])
def test_a_name_nearly_right_is_hinted_at(name: str, hint: str) -> None:
    assert near(name, ["page-size", "petId", "verbose"]) == f'; did you mean "{hint}"?'


def test_a_name_unlike_all_is_not() -> None:
    assert near("zzz", ["petId"]) == ""
