"""What is fetched for which protocol, where the bytes go, and what is said of it. Nothing is fetched."""

from __future__ import annotations

import json
from typing import cast

import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import CallerRequest, read_request
from fluxrpc.routing.inlining import inlined
from fluxrpc.upstream.media_fetch import Fetched, MediaFetcher, Unfetchable
from fluxrpc.v1.message_pb2 import ROLE_TOOL, ROLE_USER, Message, MessageRequest
from fluxrpc.v1.part_pb2 import Document, Media, Part, Parts, ToolResult


class Web:
    def __init__(self, **pages: Fetched | Exception) -> None:
        self.pages = pages
        self.asked: list[str] = []

    async def fetch(self, url: str) -> Fetched:
        self.asked.append(url)
        page = self.pages[url.rpartition("/")[2]]
        if isinstance(page, Exception):
            raise page
        return page

    def __call__(self) -> MediaFetcher:
        return cast("MediaFetcher", self)


CAT = Fetched(mime_type="image/png", data=b"cat")
PDF = Fetched(mime_type="application/pdf", data=b"pdf")


def image(url: str) -> Part:
    return Part(image=Media(url=url))


def request(*parts: Part) -> CallerRequest:
    return CallerRequest(message=MessageRequest(messages=[Message(role=ROLE_USER, parts=parts)]))


async def test_the_bytes_take_the_place_of_the_url() -> None:
    result = Part(tool_result=ToolResult(call_id="c", parts=Parts(parts=[image("http://h/cat")])))
    asked = request(
        Part(text="look"), image("https://h/cat"), Part(document=Document(media=Media(url="https://h/pdf")))
    )
    assert asked.message is not None
    asked.message.messages.add(role=ROLE_TOOL, parts=[result])
    before = asked.message.SerializeToString()
    web = Web(cat=CAT, pdf=PDF)
    done = await inlined(asked, Protocol.GEMINI, web())
    assert asked.message.SerializeToString() == before
    assert done.request.message is not None
    user, tool = done.request.message.messages
    assert (user.parts[1].image.data, user.parts[1].image.mime_type) == (b"cat", "image/png")
    assert user.parts[2].document.media.data == b"pdf"
    assert tool.parts[0].tool_result.parts.parts[0].image.data == b"cat"
    assert [(note.code, note.path) for note in done.notes] == [
        ("IMAGE_URL", "messages[0].parts[1].image"),
        ("DOCUMENT_URL", "messages[0].parts[2].document.media"),
        ("IMAGE_URL", "messages[1].parts[0].tool_result.parts.parts[0].image"),
    ]


async def test_each_url_once() -> None:
    web = Web(cat=CAT)
    await inlined(request(image("https://h/cat"), image("https://h/cat")), Protocol.GEMINI, web())
    assert web.asked == ["https://h/cat"]


@pytest.mark.parametrize(
    ("part", "target"),
    [
        (image("https://h/cat"), Protocol.ANTHROPIC),
        (image("https://h/cat"), Protocol.OPENAI),
        (image("gs://bucket/cat"), Protocol.GEMINI),
        (Part(image=Media(data=b"x")), Protocol.GEMINI),
        (Part(text="https://h/cat"), Protocol.GEMINI),
    ],
)
async def test_what_the_target_takes_is_left_alone(part: Part, target: Protocol) -> None:
    asked, web = request(part), Web()
    assert (await inlined(asked, target, web())).request is asked
    assert web.asked == []


async def test_what_cannot_be_had_is_named() -> None:
    web = Web(cat=CAT, dog=Unfetchable("it is no image and no PDF"))
    with pytest.raises(InvalidRequest) as caught:
        await inlined(request(image("https://h/cat"), image("https://h/dog")), Protocol.GEMINI, web())
    assert [(v.path, v.message) for v in caught.value.violations] == [
        ("messages[0].parts[1].image", "cannot be fetched: it is no image and no PDF")
    ]


async def test_not_too_many() -> None:
    with pytest.raises(InvalidRequest, match="at most 16"):
        await inlined(request(*[image("https://h/cat")] * 17), Protocol.GEMINI, Web()())


async def test_other_faults_are_not_the_callers() -> None:
    with pytest.raises(RuntimeError):
        await inlined(request(image("https://h/cat")), Protocol.GEMINI, Web(cat=RuntimeError())())


async def test_a_native_body_with_its_own_places() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "https://h/cat"}}]
    asked = read_request(Protocol.OPENAI, json.dumps({"messages": [{"role": "user", "content": content}]}).encode())
    done = await inlined(asked, Protocol.GEMINI, Web(cat=CAT)())
    assert done.request.read().message.messages[0].parts[1].image.data == b"cat"
    assert asked.read().message.messages[0].parts[1].image.url == "https://h/cat"
    assert done.notes[0].path.startswith("messages[0].content[1]")
    same = read_request(Protocol.GEMINI, b'{"contents":[]}')
    assert (await inlined(same, Protocol.GEMINI, Web()())).request is same
