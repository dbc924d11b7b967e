from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.media import (
    announces_attachment,
    audio_format,
    audio_mime_type,
    base64_of,
    bytes_of,
    data_uri,
    read_url,
)
from fluxrpc.v1.part_pb2 import Media


@pytest.mark.parametrize("url", ["https://a.example/x.png", "gs://b/c", "", "database"])
def test_other_urls_stay(url: str) -> None:
    media = read_url(url, path="p")
    assert media == Media(url=url)
    assert data_uri(media) == url


@pytest.mark.parametrize(
    ("url", "mime_type"),
    [
        ("data:image/png;base64,QUJD", "image/png"),
        ("DATA:image/PNG;BASE64,QUJD", "image/PNG"),
        ("data:;base64,QUJD", ""),
        ("data:audio/l16;rate=24000;base64,QUJD", "audio/l16;rate=24000"),
    ],
)
def test_data_uris(url: str, mime_type: str) -> None:
    assert read_url(url, path="p") == Media(mime_type=mime_type, data=b"ABC")


@pytest.mark.parametrize("url", ["data:text/plain,hello", "data:image/png;base64", "data:image/png;base64,Q", "data:"])
def test_what_is_not_base64_is_refused(url: str) -> None:
    with pytest.raises(JsonFault) as caught:
        read_url(url, path="messages[0].content[1]")
    assert caught.value.path == "messages[0].content[1]"


@given(st.binary(max_size=12), st.sampled_from(["image/png", ""]))
def test_there_and_back(data: bytes, mime_type: str) -> None:
    media = Media(mime_type=mime_type, data=data)
    assert read_url(data_uri(media), path="") == media
    assert bytes_of(base64_of(data), path="") == data
    assert bytes_of(base64.urlsafe_b64encode(data).decode().rstrip("="), path="") == data
    assert bytes_of(base64.encodebytes(data).decode(), path="") == data


def test_a_file_has_no_uri() -> None:
    assert data_uri(Media(file_id="f")) == ""


@pytest.mark.parametrize("text", ["Q", "QU*D", "QU\u00e9D", "QQ==QQ=="])
def test_broken_base64(text: str) -> None:
    with pytest.raises(JsonFault, match="base64 is expected"):
        bytes_of(text, path="p")


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [("wav", "audio/wav"), ("mp3", "audio/mp3"), ("pcm16", "audio/l16"), ("m4a", "audio/mp4"), ("new", "audio/new")],
)
def test_audio_formats(name: str, mime_type: str) -> None:
    assert audio_mime_type(name) == mime_type
    assert audio_format(mime_type) == name


@pytest.mark.parametrize(
    ("mime_type", "name"),
    [("audio/mpeg", "mp3"), ("audio/x-wav", "wav"), ("audio/L16; rate=24000", "pcm16"), ("audio/ogg", "ogg")],
)
def test_old_names_of_audio(mime_type: str, name: str) -> None:
    assert audio_format(mime_type) == name


@pytest.mark.parametrize(
    ("texts", "says_so"),
    [
        (["done"], False),
        ([], False),
        (["profile imaginary"], False),
        (["done", "Image follows"], True),
        (["see the attached sheet"], True),
        (["two FILES"], True),
        (["a document"], True),
    ],
)
def test_what_announces_an_attachment(texts: list[str], *, says_so: bool) -> None:
    assert announces_attachment(texts) is says_so
