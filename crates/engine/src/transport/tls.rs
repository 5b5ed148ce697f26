//! TLS towards upstreams: rustls with the ring provider, HTTP/2 offered by ALPN.
//!
//! Certificates are verified unless the settings name the host as insecure (UPS-29). The trust
//! anchors are Mozilla's, compiled in, so that a container without a certificate store behaves like any
//! other; `tls.caFile` adds to them.

use std::{io, path::Path, sync::Arc};

use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{
            CertificateDer, PrivateKeyDer, ServerName, UnixTime,
            pem::{self, PemObject},
        },
    },
};

use super::{
    egress::{HostPattern, parse_all},
    error::{ErrorKind, Fault},
    settings::{SettingsError, TlsSettings},
    target::Target,
};

/// What the server may choose from, best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Ready-made client configurations.
#[derive(Debug)]
pub(crate) struct Tls {
    verified: TlsSide,
    unverified: TlsSide,
    insecure_hosts: Vec<HostPattern>,
}

type TlsSide = Arc<ClientConfig>;

impl Tls {
    /// For upstreams, which may speak HTTP/2.
    pub(super) fn new(settings: &TlsSettings) -> Result<Self, SettingsError> {
        Self::with_protocols(settings, &PROTOCOLS)
    }

    /// For servers that speak one of these protocols, or one that has no name.
    pub(crate) fn with_protocols(
        settings: &TlsSettings,
        protocols: &[&[u8]],
    ) -> Result<Self, SettingsError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(path) = &settings.ca_file {
            for certificate in certificates("tls.caFile", path)? {
                roots.add(certificate).map_err(|cause| bad("tls.caFile", &cause))?;
            }
        }
        let identity = identity(settings)?;
        let provider = Arc::new(ring::default_provider());
        let build = |is_verified: bool| -> Result<TlsSide, SettingsError> {
            let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(|cause| bad("tls", &cause))?;
            let builder = if is_verified {
                builder.with_root_certificates(roots.clone())
            } else {
                let verifier = Arc::new(AcceptAnyone { provider: Arc::clone(&provider) });
                builder.dangerous().with_custom_certificate_verifier(verifier)
            };
            let mut config = match &identity {
                None => builder.with_no_client_auth(),
                Some((chain, key)) => builder
                    .with_client_auth_cert(chain.clone(), key.clone_key())
                    .map_err(|cause| bad("tls.clientCert", &cause))?,
            };
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            Ok(Arc::new(config))
        };
        Ok(Self {
            verified: build(true)?,
            unverified: build(false)?,
            insecure_hosts: parse_all("tls.insecureHosts", &settings.insecure_hosts)?,
        })
    }

    /// Shakes hands; the flag tells whether HTTP/2 was agreed on.
    pub(super) async fn connect(
        &self,
        target: &Target,
        stream: TcpStream,
    ) -> Result<(TlsStream<TcpStream>, bool), Fault> {
        let name = ServerName::try_from(target.site.host.clone())
            .map_err(|cause| Fault::new(ErrorKind::InvalidUri, cause))?;
        let stream = self
            .shake_hands(name, &target.site.host, target.site.port, stream)
            .await
            .map_err(|cause| Fault::from_io(&cause))?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(PROTOCOLS[0]);
        Ok((stream, is_http2))
    }

    /// Shakes hands with a server of any protocol.
    ///
    /// # Errors
    /// A host that cannot be in a certificate, a server that is not trusted, a broken connection.
    pub(crate) async fn secure(
        &self,
        host: &str,
        port: u16,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|cause| io::Error::new(io::ErrorKind::InvalidInput, cause))?;
        self.shake_hands(name, host, port, stream).await
    }

    async fn shake_hands(
        &self,
        name: ServerName<'static>,
        host: &str,
        port: u16,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let is_insecure =
            self.insecure_hosts.iter().any(|pattern| pattern.matches_host(host, port));
        let config = if is_insecure { &self.unverified } else { &self.verified };
        TlsConnector::from(Arc::clone(config)).connect(name, stream).await
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn identity(settings: &TlsSettings) -> Result<Option<Identity>, SettingsError> {
    match (&settings.client_cert, &settings.client_key) {
        (None, None) => Ok(None),
        (Some(chain), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|cause| unreadable("tls.clientKey", key, &cause))?;
            Ok(Some((certificates("tls.clientCert", chain)?, key)))
        }
        (Some(_), None) => Err(bad("tls.clientKey", &"`tls.clientCert` needs a key")),
        (None, Some(_)) => Err(bad("tls.clientCert", &"`tls.clientKey` needs a certificate")),
    }
}

fn certificates(
    setting: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|cause| unreadable(setting, path, &cause))?;
    if found.is_empty() {
        return Err(bad(setting, &format_args!("no certificate in `{}`", path.display())));
    }
    Ok(found)
}

fn unreadable(setting: &'static str, path: &Path, cause: &pem::Error) -> SettingsError {
    bad(setting, &format_args!("cannot read `{}`: {cause}", path.display()))
}

fn bad(setting: &'static str, reason: &dyn std::fmt::Display) -> SettingsError {
    SettingsError { setting, reason: reason.to_string() }
}

/// Accepts every certificate, but still demands that the peer holds its key.
#[derive(Debug)]
struct AcceptAnyone {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AcceptAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, tokio_rustls::rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
