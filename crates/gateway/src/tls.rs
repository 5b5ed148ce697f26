//! Certificates of this server, and of clients that have to show one.
//!
//! In: the settings under `tls`. Out: a [`TlsFront`], which gives every new connection the certificates that hold
//! now. They are read anew by [`TlsFront::read_anew`] and used by [`TlsFront::replace`]: all files are read and checked together, each certificate
//! against its key, before any of them is used; if something is wrong, what holds goes on holding. Connections
//! keep what they began with.

mod certificate;

use std::{
    collections::HashMap,
    fmt, fs,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::sync::Semaphore;
use tokio_rustls::rustls::{
    RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
    sign::CertifiedKey,
    version::{TLS12, TLS13},
};

pub(crate) use certificate::identity;

/// Bytes of a file with certificates or a key.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Certificates of one server.
pub(crate) const CERTIFICATES_MAX: usize = 100;

/// What clients may choose from, best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Settings of TLS towards clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Files with a certificate and those that vouch for it.
    pub certificates: Vec<String>,
    /// The file with the key of each.
    pub keys: Vec<String>,
    /// The oldest version that is spoken.
    pub oldest: TlsVersion,
    /// A file with the authorities that vouch for clients; without it no client is asked for a certificate.
    pub client_authorities: Option<PathBuf>,
    /// Whether a client without a certificate is turned away.
    pub client: ClientCertificate,
    /// The header in which scripts find who the client is.
    pub identity_header: Option<String>,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// Handshakes at the same time; further ones wait.
    pub handshakes_max: usize,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            certificates: Vec::new(),
            keys: Vec::new(),
            oldest: TlsVersion::default(),
            client_authorities: None,
            client: ClientCertificate::default(),
            identity_header: None,
            handshake_timeout: Duration::from_secs(10),
            handshakes_max: 512,
        }
    }
}

impl TlsSettings {
    /// The files that they name.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let own = self.certificates.iter().chain(&self.keys).map(PathBuf::from);
        own.chain(self.client_authorities.clone())
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsVersion {
    /// TLS 1.2
    #[default]
    V12,
    /// TLS 1.3
    V13,
}

/// Whether a client has to show a certificate, where there are authorities for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientCertificate {
    /// Who has none is turned away.
    #[default]
    Required,
    /// Who has none is let in without an identity.
    Optional,
}

/// Why certificates cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsProblem {
    setting: &'static str,
    reason: String,
}

impl TlsProblem {
    fn new(setting: &'static str, reason: impl Into<String>) -> Self {
        Self { setting, reason: reason.into() }
    }

    fn of_file(setting: &'static str, path: &Path, reason: impl fmt::Display) -> Self {
        Self::new(setting, format!("`{}`: {reason}", path.display()))
    }
}

impl fmt::Display for TlsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.setting, self.reason)
    }
}

impl std::error::Error for TlsProblem {}

/// What new connections get.
#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    expires_at: i64,
}

/// Certificates that have been read and checked.
#[derive(Debug)]
pub(crate) struct Fresh(Arc<Current>);

/// The certificates of a server.
#[derive(Debug)]
pub(crate) struct TlsFront {
    settings: TlsSettings,
    current: ArcSwap<Current>,
    handshakes: Arc<Semaphore>,
}

impl TlsFront {
    /// Reads the certificates; nothing if there are none in the settings.
    ///
    /// # Errors
    /// A file cannot be read or understood, or a certificate and its key do not belong together.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Option<Self>, TlsProblem> {
        if settings.certificates.is_empty() && settings.keys.is_empty() {
            if settings.client_authorities.is_some() {
                let reason = "clients can only be asked for a certificate where this server has one, `tls.certificate`";
                return Err(TlsProblem::new("tls.clientAuthorities", reason));
            }
            return Ok(None);
        }
        let current = ArcSwap::from_pointee(read(settings)?);
        let handshakes = Arc::new(Semaphore::new(settings.handshakes_max));
        Ok(Some(Self { settings: settings.clone(), current, handshakes }))
    }

    /// Reads the files anew; nothing changes by that.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub(crate) fn read_anew(&self) -> Result<Fresh, TlsProblem> {
        read(&self.settings).map(Arc::new).map(Fresh)
    }

    /// Gives new connections these certificates.
    pub(crate) fn replace(&self, fresh: Fresh) {
        self.current.store(fresh.0);
    }

    /// What a new connection gets.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().config)
    }

    /// When the first of the certificates expires, in seconds since 1970.
    pub(crate) fn expires_at(&self) -> i64 {
        self.current.load().expires_at
    }

    /// How long a handshake may take, its waiting for others included.
    pub(crate) fn handshake_timeout(&self) -> Duration {
        self.settings.handshake_timeout
    }

    /// A permit for each handshake that may be under way.
    pub(crate) fn handshakes(&self) -> &Semaphore {
        &self.handshakes
    }
}

/// Chooses a certificate by the name that a client asks for.
#[derive(Debug)]
struct Certificates {
    by_name: HashMap<String, Arc<CertifiedKey>>,
    first: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(self.of_name(hello.server_name())))
    }
}

impl Certificates {
    /// That of the name, else one for all names beside it, else the first.
    fn of_name(&self, name: Option<&str>) -> &Arc<CertifiedKey> {
        let name = name.map(str::to_ascii_lowercase);
        let found = name.and_then(|name| {
            self.by_name.get(&name).or_else(|| {
                let (_, domain) = name.split_once('.')?;
                self.by_name.get(&format!("*.{domain}"))
            })
        });
        found.unwrap_or(&self.first)
    }
}

fn read(settings: &TlsSettings) -> Result<Current, TlsProblem> {
    let TlsSettings { certificates, keys, .. } = settings;
    if certificates.len() != keys.len() {
        let (wanted, found) = (certificates.len(), keys.len());
        let reason = format!(
            "every certificate needs its key, in the same order: there are {wanted} files in `tls.certificate` and {found} here"
        );
        return Err(TlsProblem::new("tls.key", reason));
    }
    if certificates.len() > CERTIFICATES_MAX {
        let reason = format!("there are more than {CERTIFICATES_MAX}");
        return Err(TlsProblem::new("tls.certificate", reason));
    }
    let provider = Arc::new(ring::default_provider());
    let mut by_name = HashMap::new();
    let mut first = None;
    let mut expires_at = i64::MAX;
    for (certificate, key) in certificates.iter().zip(keys) {
        let (certificate, key) = (Path::new(certificate), Path::new(key));
        let (pair, facts) = read_pair(certificate, key, &provider)?;
        let pair = Arc::new(pair);
        expires_at = expires_at.min(facts.expires_at);
        for name in facts.names {
            by_name.entry(name).or_insert_with(|| Arc::clone(&pair));
        }
        first.get_or_insert(pair);
    }
    let first = first.ok_or_else(|| TlsProblem::new("tls.certificate", "there is none"))?;
    let config = configure(settings, provider, Certificates { by_name, first })?;
    Ok(Current { config: Arc::new(config), expires_at })
}

/// The settings of rustls.
fn configure(
    settings: &TlsSettings,
    provider: Arc<CryptoProvider>,
    certificates: Certificates,
) -> Result<ServerConfig, TlsProblem> {
    let versions: &[&SupportedProtocolVersion] = match settings.oldest {
        TlsVersion::V12 => &[&TLS13, &TLS12],
        TlsVersion::V13 => &[&TLS13],
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| TlsProblem::new("tls.minVersion", error.to_string()))?;
    let builder = match &settings.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            const SETTING: &str = "tls.clientAuthorities";
            let mut roots = RootCertStore::empty();
            for authority in read_certificates(SETTING, path)? {
                roots.add(authority).map_err(|error| TlsProblem::of_file(SETTING, path, error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match settings.client {
                ClientCertificate::Required => verifier,
                ClientCertificate::Optional => verifier.allow_unauthenticated(),
            };
            let verifier =
                verifier.build().map_err(|error| TlsProblem::of_file(SETTING, path, error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(certificates));
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
    // Without it, sessions are taken up again from a small memory of this process.
    config.ticketer = ring::Ticketer::new()
        .map_err(|error| TlsProblem::new("tls.certificate", format!("no tickets: {error}")))?;
    Ok(config)
}

/// A certificate with the key that belongs to it.
fn read_pair(
    certificate: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<(CertifiedKey, certificate::Facts), TlsProblem> {
    const SETTING: &str = "tls.certificate";
    let chain = read_certificates(SETTING, certificate)?;
    let first = chain.first().ok_or_else(|| {
        TlsProblem::of_file(SETTING, certificate, "there is no certificate in it")
    })?;
    let facts = certificate::facts(first)
        .map_err(|reason| TlsProblem::of_file(SETTING, certificate, reason))?;
    let private = PrivateKeyDer::from_pem_slice(&read_file("tls.key", key)?)
        // What is wrong with a key is told without a byte of it.
        .map_err(|_| TlsProblem::of_file("tls.key", key, "there is no private key in PEM in it"))?;
    let pair = CertifiedKey::from_der(chain, private, provider).map_err(|error| {
        let reason = format!(
            "it does not belong to the certificate in `{}`: {error}",
            certificate.display()
        );
        TlsProblem::of_file("tls.key", key, reason)
    })?;
    Ok((pair, facts))
}

fn read_certificates(
    setting: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let text = read_file(setting, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| TlsProblem::of_file(setting, path, error))?;
    if found.is_empty() {
        return Err(TlsProblem::of_file(setting, path, "there is no certificate in PEM in it"));
    }
    Ok(found)
}

fn read_file(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsProblem> {
    let mut bytes = Vec::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| TlsProblem::of_file(setting, path, error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let reason = format!("it has more than {FILE_BYTES_MAX} bytes");
        return Err(TlsProblem::of_file(setting, path, reason));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
