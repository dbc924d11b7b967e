"""What a handshake is answered with when the files have changed: asked here as gRPC's own thread would."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from fluxrpc.config.schema import FilePath, TlsSettings
from fluxrpc.server import tls
from fluxrpc.server.tls import CertificateError


@pytest.fixture
def settings(tmp_path: Path) -> TlsSettings:
    _write(tmp_path)
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca")
    return TlsSettings(
        cert=FilePath(tmp_path / "cert"), key=FilePath(tmp_path / "key"), client_ca=FilePath(tmp_path / "ca")
    )


def _write(folder: Path) -> None:
    leaf = trustme.CA().issue_cert("localhost")
    (folder / "key").write_bytes(leaf.private_key_pem.bytes())
    (folder / "cert").write_bytes(leaf.cert_chain_pems[0].bytes())


def test_only_a_sound_change_is_taken(settings: TlsSettings, tmp_path: Path) -> None:
    fetch = tls._Fetcher(settings, tls._read(settings))
    assert fetch() is None
    _write(tmp_path)
    assert fetch() is not None
    assert fetch() is None
    good = (tmp_path / "key").read_bytes()
    for broken in (b"", b"rubbish", good[: len(good) // 2]):
        (tmp_path / "key").write_bytes(broken)
        assert fetch() is None
    (tmp_path / "key").write_bytes(good)
    assert fetch() is None


def test_an_encrypted_key_asks_nobody(settings: TlsSettings, tmp_path: Path) -> None:
    key = (tmp_path / "key").read_text().splitlines()
    sealed = [key[0], "Proc-Type: 4,ENCRYPTED", f"DEK-Info: AES-256-CBC,{'AB' * 16}", "", *key[1:]]
    (tmp_path / "key").write_text("\n".join(sealed))
    with pytest.raises(CertificateError):
        tls._read(settings)


@pytest.mark.parametrize("name", ["cert", "key", "ca"])
def test_a_file_that_is_gone(settings: TlsSettings, tmp_path: Path, name: str) -> None:
    (tmp_path / name).unlink()
    with pytest.raises(CertificateError, match="No such file"):
        tls._read(settings)
