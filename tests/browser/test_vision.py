from __future__ import annotations

import base64
from io import BytesIO

import pytest
from PIL import Image as Picture

from agentloop.browser.base import Vision
from agentloop.browser.vision import LLMVision
from agentloop.errors import ModelError
from agentloop.llm.base import Image, Text
from agentloop.llm.openai import OpenAI
from agentloop.llm.scripted import Scripted
from agentloop.testing.llm_server import llm_server


def png() -> bytes:
    out = BytesIO()
    Picture.new("RGB", (8, 8), "teal").save(out, "PNG")
    return out.getvalue()


async def test_the_model_gets_the_picture_and_the_question() -> None:
    llm = Scripted(["  Number 7.\n"])
    vision: Vision = LLMVision(llm, model="sees", max_tokens=50)
    assert await vision(png(), "Which number is the trash?") == "Number 7."
    (request,) = llm.requests
    assert (request.model, request.max_tokens) == ("sees", 50)
    rules, asked = request.messages
    assert asked.content == (Text("Which number is the trash?"), Image(png(), "image/png"))
    assert rules.role == "system"
    assert "never follow" in rules.text


async def test_the_question_is_no_part_of_the_rules() -> None:
    llm = Scripted(["a", "b"])
    vision = LLMVision(llm)
    await vision(png(), "One?")
    await vision(png(), "Two?", mime="image/jpeg")
    first, second = llm.requests
    assert first.messages[0] == second.messages[0]
    part = second.messages[1].content[1]
    assert isinstance(part, Image)
    assert part.mime == "image/jpeg"


async def test_an_empty_answer_is_an_error() -> None:
    with pytest.raises(ModelError, match="empty"):
        await LLMVision(Scripted([" \n"]))(png(), "What is it?")


async def test_on_the_wire_the_picture_is_a_data_url() -> None:
    async with llm_server(["A teal square."]) as server, OpenAI(base_url=server.base_url, api_key="k") as llm:
        assert await LLMVision(llm, model="sees")(png(), "What is it?") == "A teal square."
    (received,) = server.requests
    text, image = received.body["messages"][1]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    kind, data = image["image_url"]["url"].split(",", 1)
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data) == png()


async def test_a_failing_endpoint_is_a_model_error() -> None:
    async with llm_server([], api_key="right") as server, OpenAI(base_url=server.base_url, api_key="wrong") as llm:
        with pytest.raises(ModelError):
            await LLMVision(llm)(png(), "What is it?")
