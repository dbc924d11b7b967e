"""TLS towards callers: certificates that renew themselves without a restart, callers that must show one."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme

from fluxrpc.server.lifecycle import StartError
from fluxrpc.simulator import Simulator
from tests.integration.server.conftest import ENV
from tests.support.asking import config_for, native, raw
from tests.support.serving import Serving, serving

TARGET_NAME = (("grpc.ssl_target_name_override", "localhost"),)


class Files:
    """Certificate and key of the server in a folder, and the authority that its callers trust."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.cert, self.key, self.client_ca = folder / "cert.pem", folder / "key.pem", folder / "clients.pem"
        self.authority.cert_pem.write_to_path(self.client_ca)
        self.renew()

    @property
    def tls(self) -> dict[str, str]:
        return {"cert": str(self.cert), "key": str(self.key)}

    def renew(self) -> None:
        leaf = self.authority.issue_cert("localhost", "127.0.0.1")
        self.key.write_bytes(leaf.private_key_pem.bytes())
        self.cert.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))

    def renew_half(self) -> None:
        """A new certificate beside the old key."""
        leaf = self.authority.issue_cert("localhost", "127.0.0.1")
        self.cert.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))

    def cut(self) -> None:
        """A file that is being written."""
        self.cert.write_bytes(self.cert.read_bytes()[:200])

    def credentials(self, leaf: trustme.LeafCert | None = None) -> grpc.ChannelCredentials:
        key = None if leaf is None else leaf.private_key_pem.bytes()
        chain = None if leaf is None else b"".join(part.bytes() for part in leaf.cert_chain_pems)
        return grpc.ssl_channel_credentials(self.authority.cert_pem.bytes(), key, chain)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def _config(sim: Simulator, tls: dict[str, str]) -> dict[str, Any]:
    return config_for(sim, {"m": [{"model": "m"}]}, server={"tls": tls})


async def _shown(server: Serving, files: Files) -> bytes:
    """The certificate that a fresh handshake is shown."""
    context = ssl.create_default_context(cadata=files.authority.cert_pem.bytes().decode())
    context.set_alpn_protocols(["h2"])
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", server.server.port, ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    assert isinstance(shown, bytes)
    return shown


async def test_calls_over_tls(sim: Simulator, files: Files) -> None:
    async with serving(_config(sim, files.tls), ENV, credentials=files.credentials(), channel_options=TARGET_NAME) as s:
        assert (await s.stub.Execute(native("openai", "m"))).native.body
        async with grpc.aio.insecure_channel(s.target) as plain:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await raw(plain, "/fluxrpc.v1.RouterService/Execute")(b"", timeout=5)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_renewed_certificate_needs_no_restart(sim: Simulator, files: Files) -> None:
    async with serving(_config(sim, files.tls), ENV, credentials=files.credentials(), channel_options=TARGET_NAME) as s:
        first = await _shown(s, files)
        assert await _shown(s, files) == first
        files.renew()
        second = await _shown(s, files)
        assert second != first
        # Half a renewal, a cut file, none at all: the last good pair goes on.
        for spoil in (files.renew_half, files.cut, files.cert.unlink):
            spoil()
            assert await _shown(s, files) == second
        files.renew()
        assert await _shown(s, files) not in {first, second}
        assert (await s.stub.Execute(native("openai", "m"))).native.body
    assert [line for line in s.log_lines if line["event"] == "certificate_unusable"]


@pytest.mark.parametrize("who", ["ours", "foreign", "nobody"])
async def test_callers_show_a_certificate(sim: Simulator, files: Files, who: str) -> None:
    leaves = {"ours": files.authority, "foreign": trustme.CA()}
    leaf = leaves[who].issue_cert("caller.example") if who in leaves else None
    tls = {**files.tls, "client_ca": str(files.client_ca)}
    credentials = files.credentials(leaf)
    async with serving(_config(sim, tls), ENV, credentials=credentials, channel_options=TARGET_NAME) as server:
        call = server.stub.Execute(native("openai", "m"), timeout=5)
        if who == "ours":
            assert (await call).native.body
            return
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert not sim.log


@pytest.mark.parametrize("what", ["cert", "key", "client_ca", "pair"])
async def test_certificates_that_cannot_be_used(sim: Simulator, files: Files, what: str) -> None:
    """One clear line, and nothing listens."""
    if what == "pair":
        files.renew_half()
    else:
        getattr(files, what).write_text("no PEM é")
    tls = {**files.tls, "client_ca": str(files.client_ca)}
    with pytest.raises(StartError, match="cannot use the certificate"):
        async with serving(_config(sim, tls), ENV):
            raise AssertionError("it serves")
