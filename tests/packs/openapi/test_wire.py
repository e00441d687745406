"""Every operation of three documents, called by a script and read on the wire by somebody else."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from openapi_spec_validator import validate
from werkzeug.formparser import parse_form_data

from agentloop.packs.openapi import openapi_capability, read_api
from agentloop.packs.openapi.checking import is_file
from agentloop.packs.openapi.model import Operation
from tests.packs.openapi.wire import SPECS, built, listening, loaded, understood
from tests.packs.web import value

PNG = bytes(range(256)) + b"\r\n--\n"
FILE = {"base64": base64.b64encode(PNG).decode(), "filename": 'a "b" é.png', "contentType": "image/png"}
EVENT_ID = "3be6453c-03eb-4357-ae5a-984a0e574a54"
PET = {
    "id": 7,
    "name": "Ada & Bob = é",
    "category": {"id": 1, "name": "dogs", "parent": {"name": "animals"}},
    "photoUrls": ["https://a.example/?b=c&d", ""],
    "tags": [{"id": 1, "name": None}],
    "status": "sold",
}
EVENT = {
    "name": "Night of lamps",
    "location": None,
    "dates": ["2026-12-01", "2026-12-02"],
    "price": "free",
    "related": [{"name": "Day of lamps", "dates": [], "price": 2.5}],
}

PETSTORE: dict[str, Any] = {
    "addPet": {"body": PET},
    "updatePet": {"body": {"name": "Ada", "photoUrls": []}},
    "findPetsByStatus": {"status": "pending"},
    "findPetsByTags": {"tags": ["a b", "c&d=e", "é/ü?#%20", "+"], "page-size": 20, "sort[]": ["-name", "id"]},
    "deletePet": {"petId": 7, "X-Reason": "sold; moved, away", "X-Trace": [1, 2, 3]},
    "getPetById": {"petId": 9007199254740991},
    "updatePetWithForm": {
        "petId": 7,
        "body": {"name": "A&b=c +%", "status": "é", "nicknames": ["a,b", "c d"], "weights": [1, 20, 300]},
    },
    "uploadFile": {"petId": 7, "additionalMetadata": "front view", "body": {"base64": FILE["base64"]}},
    "getInventory": {},
    "placeOrder": {
        "body": {
            "petId": 7,
            "quantity": 1,
            "shipDate": "2026-12-24T10:00:00+00:00",
            "status": "placed",
            "complete": False,
        }
    },
    "getOrderById": {"orderId": 1},
    "deleteOrder": {"orderId": 10},
    "createUser": {"body": {"username": "ann", "userStatus": 1}},
    "createUsersWithListInput": {"body": [{"username": "ann"}, {"username": "bob", "email": "b@example.com"}]},
    "loginUser": {"username": "ann", "password": "a=b&c"},
    "logoutUser": {"session": "abc-_.~!", "seen": [3, 5, 8]},
    "getUserByName": {"username": "ann/bob ü%2F?"},
    "updateUser": {"username": "ann", "body": {"email": "a@example.com"}},
    "deleteUser": {"username": "..a"},
}
MUSEUM: dict[str, Any] = {
    "get_museum_hours": {
        "start-date": "2026-12-01",
        "page": 2,
        "limit": 10,
        "halls": ["north", "south wing"],
        "Accept-Language": "de, en;q=0.5",
    },
    "listSpecialEvents": {
        "startDate": "2026-12-01",
        "filter": {"city": "São Paulo", "free": True, "most": 2.5},
        "where": {"all": [{"field": "name", "is": "a & b"}, {"all": []}]},
        "visitor": "v1",
        "consents": ["all", "ads"],
    },
    "createSpecialEvent": {"body": EVENT},
    "getSpecialEvent": {"eventId": EVENT_ID},
    "updateSpecialEvent": {"eventId": EVENT_ID, "If-Match": ['"a"', '"b"'], "body": {"eventDescription": None}},
    "deleteSpecialEvent": {"eventId": EVENT_ID},
    "addPictures": {
        "eventId": EVENT_ID,
        "body": {
            "title": 'The "Lamp" é',
            "artist": {"name": "Zoë", "born": 1850},
            "picture": FILE,
            "details": [{"base64": "AAEC"}, {"content": "text", "filename": "d.txt"}],
            "keywords": ["oil", "on, canvas"],
        },
    },
    "buyMuseumTickets": {"body": {"email": "a@example.com", "ticketType": "event", "eventId": EVENT_ID}},
    "getTicketCode": {"ticketId": EVENT_ID},
    "getReportsByYearByMonthBySizes": {"year": 2026, "month": 12, "sizes": [1, 2]},
}
PAYMENTS: dict[str, Any] = {
    "GetCustomers": {
        "email": "a+b@example.com",
        "limit": 3,
        "created": {"gt": 1, "lte": 20},
        "fields": ["id", "name"],
    },
    "PostCustomers": {
        "Idempotency-Key": "k 1",
        "Api-Version": "2026",
        "body": {
            "name": "Ann & Co",
            "balance": -5,
            "tax_exempt": "",
            "validate": True,
            "metadata": {"order_id": "6735 &", "b": "c"},
            "address": {"city": "Bern", "postal_code": "3000"},
            "preferred_locales": ["de", "fr"],
        },
    },
    "GetCustomersSearch": {"query": "email:'a@b.example' AND name:\"x&y=z+1\" #1"},
    "GetCustomersCustomer": {"customer": "cus 1"},
    "DeleteCustomersCustomer": {"customer": "cus_1"},
    "GetCustomersCustomerSourcesId": {
        "customer": "cus_1",
        "path_id": "card/1",
        "query_id": "other",
        "as-of": "minus",
        "as_of": "under",
    },
    "PostCharges": {"body": {"amount": 100, "currency": "chf", "capture": False, "description": "a\r\nb"}},
    "PostFiles": {"body": {"file": FILE, "purpose": "logo"}},
}
ALL = [
    pytest.param(spec, function, params, id=function)
    for spec, calls in (("petstore.yaml", PETSTORE), ("museum.json", MUSEUM), ("payments.yaml", PAYMENTS))
    for function, params in calls.items()
]

# Untyped bytes, as 3.1 has them, this reader makes nothing of: they are looked at by the test of files below.
UNREAD = {"picture", "details"}


@pytest.mark.parametrize("spec", ["petstore.yaml", "museum.json", "payments.yaml"])
def test_the_documents_are_valid(spec: str) -> None:
    validate(loaded(spec, server="https://a.example"))


def test_every_operation_is_called() -> None:
    assert read_api(SPECS / "petstore.yaml").operations.keys() == PETSTORE.keys()
    assert read_api(SPECS / "museum.json").operations.keys() == MUSEUM.keys()
    assert read_api(SPECS / "payments.yaml").operations.keys() == PAYMENTS.keys()


@pytest.mark.parametrize(("spec", "function", "params"), ALL)
async def test_what_arrives_is_what_was_meant(spec: str, function: str, params: dict[str, Any]) -> None:
    async with listening() as api:
        base = f"{api.url}/base/v2"
        capability = openapi_capability(SPECS / spec, base_url=f"{base}/", headers={"api_key": "k-123456789"})
        async with built(capability) as pack:
            call = f"require(args.name)[{function!r}](args.params)"
            reply = await value(call, pack, args={"name": capability.name, "params": params})

        assert (reply["status"], reply["ok"]) == (200, True)
        [_] = api.requests
        places, body = understood(loaded(spec, server=base), api.received("fields"))
        operation = read_api(SPECS / spec).operations[function]
        assert places == sent(operation, params)
        if isinstance(body, dict):
            body = {name: item for name, item in body.items() if name not in UNREAD}
        assert body == in_bytes(params.get("body"))


async def test_a_call_goes_where_the_variables_of_the_server_say() -> None:
    async with listening() as api:
        variables = {"scheme": "http", "place": "127.0.0.1", "port": api.url.rpartition(":")[2], "version": "v1"}
        capability = openapi_capability(SPECS / "museum.json", server_variables=variables, allow=[api.url])
        async with built(capability) as pack:
            await value(f"require('museum').getSpecialEvent({{eventId: {EVENT_ID!r}}}).status", pack)
        assert api.target == f"/v1/special-events/{EVENT_ID}"
        assert understood(loaded("museum.json", server=f"{api.url}/v1"), api.received())[0]["path"] == {
            "eventId": EVENT_ID
        }


def sent(operation: Operation, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters of a call by place and real name."""
    places: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "header": {}, "cookie": {}}
    for parameter in operation.parameters:
        if parameter.key in params:
            places[parameter.place][parameter.name] = params[parameter.key]
    return places


def in_bytes(body: Any) -> Any:
    """A body with its files as what is in them."""
    if is_file(body):
        return base64.b64decode(body["base64"]) if "base64" in body else body["content"].encode()
    if isinstance(body, list):
        return [in_bytes(item) for item in body]
    if not isinstance(body, dict):
        return body
    return {key: in_bytes(item) for key, item in body.items() if key not in UNREAD}


def form(content_type: str, body: bytes) -> tuple[list[tuple[str, str]], list[tuple[str, str | None, str, bytes]]]:
    """Fields, and files with their names, content types and bytes, as werkzeug reads them."""
    environ = {
        "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    _, fields, files = parse_form_data(environ, stream_factory=lambda *_, **__: io.BytesIO())
    return list(fields.items(multi=True)), [
        (name, file.filename, file.mimetype, file.read()) for name, file in files.items(multi=True)
    ]


@pytest.mark.parametrize(("spec", "function"), [("museum.json", "addPictures"), ("payments.yaml", "PostFiles")])
async def test_files_arrive_with_names_types_and_every_byte(spec: str, function: str) -> None:
    more = {"year": 1889} if function == "addPictures" else {"expires_at": 1}
    params = (MUSEUM | PAYMENTS)[function]
    async with listening() as api, built(openapi_capability(SPECS / spec, base_url=api.url, name="a")) as pack:
        call = f"require('a')[{function!r}](args)"
        await value(call, pack, args={**params, "body": params["body"] | more})
        fields, files = form(api.last.headers["Content-Type"], api.bodies[-1])

    if function == "PostFiles":
        assert fields == [("purpose", "logo"), ("expires_at", "1")]
        assert files == [("file", 'a "b" é.png', "image/png", PNG)]
    else:
        assert [field for field in fields if field[0] != "artist"] == [
            ("title", 'The "Lamp" é'),
            ("keywords", "oil"),
            ("keywords", "on, canvas"),
            ("year", "1889"),
        ]
        assert json.loads(dict(fields)["artist"]) == {"name": "Zoë", "born": 1850}
        assert files == [
            ("picture", 'a "b" é.png', "image/png", PNG),
            ("details", "details", "application/octet-stream", b"\x00\x01\x02"),
            ("details", "d.txt", "application/octet-stream", b"text"),
        ]
