"""TLS towards callers: certificates that are read again when their files change, so that renewal needs no restart."""

from __future__ import annotations

import ssl
from pathlib import Path

import grpc
import structlog

from fluxrpc.config.schema import TlsSettings

_log = structlog.get_logger("fluxrpc.server")


class CertificateError(Exception):
    """The files cannot be used; the message says which and why, in words that may be shown."""


def server_credentials(tls: TlsSettings) -> grpc.ServerCredentials:
    """Credentials that follow the files.

    Raises:
        CertificateError: a file is gone or no PEM, or the key is not that of the certificate.
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
        except CertificateError as error:
            # Half-written files, or one of a pair: the next handshake looks again.
            _log.warning("certificate_unusable", why=str(error))
            return None
        if latest == self._current:
            return None
        self._current = latest
        return _configuration(latest)


def _read(tls: TlsSettings) -> tuple[bytes, bytes, bytes | None]:
    """Key, certificates and authorities, checked: grpc would only fail each handshake.

    Raises:
        CertificateError: they cannot be used.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.cert, tls.key, password=_no_password)
        authority = None if tls.client_ca is None else Path(tls.client_ca).read_bytes()
        if authority is not None:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=authority.decode("ascii"))
        return Path(tls.key).read_bytes(), Path(tls.cert).read_bytes(), authority
    except ssl.SSLError as error:
        raise CertificateError(f"{tls.cert}, {tls.key}: {error.reason or 'no PEM'}") from error
    except OSError as error:
        raise CertificateError(f"{error.filename}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CertificateError(f"{tls.client_ca}: no PEM") from error


def _no_password() -> str:
    return ""  # else OpenSSL would ask on the terminal for that of an encrypted key


def _configuration(files: tuple[bytes, bytes, bytes | None]) -> grpc.ServerCertificateConfiguration:
    key, certificate, authority = files
    return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=authority)
