"""TLS towards callers: certificates that are read again when their files change, so that renewal needs no restart."""

from __future__ import annotations

from pathlib import Path

import grpc
import structlog

from fluxrpc.config.schema import TlsSettings

_log = structlog.get_logger("fluxrpc.server")


def server_credentials(tls: TlsSettings) -> grpc.ServerCredentials:
    """Credentials that follow the files. The files are known to be readable: the configuration has been checked.

    Raises:
        OSError: a file has gone since.
    """
    first = _read(tls)
    return grpc.dynamic_ssl_server_credentials(
        _configuration(first),
        _Fetcher(tls, first),  # type: ignore[arg-type]  # the stub leaves out None, which grpc documents
        require_client_authentication=tls.client_ca is not None,
    )


class _Fetcher:
    """Asked at each handshake: a new configuration if the files changed, else None (grpc keeps the one it has)."""

    def __init__(self, tls: TlsSettings, current: tuple[bytes, bytes, bytes | None]) -> None:
        self._tls = tls
        self._current = current

    def __call__(self) -> grpc.ServerCertificateConfiguration | None:
        try:
            latest = _read(self._tls)
        except OSError as error:
            _log.warning("certificate_unreadable", errno=error.errno)
            return None
        if latest == self._current:
            return None
        self._current = latest
        return _configuration(latest)


def _read(tls: TlsSettings) -> tuple[bytes, bytes, bytes | None]:
    authority = None if tls.client_ca is None else Path(tls.client_ca).read_bytes()
    return Path(tls.key).read_bytes(), Path(tls.cert).read_bytes(), authority


def _configuration(files: tuple[bytes, bytes, bytes | None]) -> grpc.ServerCertificateConfiguration:
    key, certificate, authority = files
    return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=authority)
