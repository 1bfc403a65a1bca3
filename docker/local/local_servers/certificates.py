"""Creates a certificate for the loopback interface, signed by an authority whose key is not kept."""

from __future__ import annotations

from pathlib import Path

from local_servers.errors import ServerError
from local_servers.state import write_private


def make(ca: Path, keystore: Path, *, password: str) -> None:
    """Writes the certificate of the authority, and the key and certificate of the server: as PKCS 12, and beside it as PEM.

    Raises
    ------
    ServerError : trustme is not installed
    """
    try:
        import trustme
    except ImportError as error:
        raise ServerError(
            "certificates for OpenSearch need trustme, which is not installed; run: pip install 'hlgraph[dev]'"
        ) from error
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
        pkcs12,
    )

    authority = trustme.CA(organization_name="hlgraph local servers")
    issued = authority.issue_cert("localhost", "127.0.0.1")
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    chain = [x509.load_pem_x509_certificate(one.bytes()) for one in issued.cert_chain_pems]
    sealed = pkcs12.serialize_key_and_certificates(
        b"server",
        key,  # type: ignore[arg-type]
        chain[0],
        [*chain[1:], x509.load_pem_x509_certificate(authority.cert_pem.bytes())],
        BestAvailableEncryption(password.encode()),
    )
    write_private(keystore, sealed)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(keystore.with_suffix(".pem"), b"".join([pem, *(one.bytes() for one in issued.cert_chain_pems)]))
    authority.cert_pem.write_to_path(ca)
