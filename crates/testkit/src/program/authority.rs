//! A certificate authority of a test's own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use tempfile::TempDir;

/// An authority that nobody knows, and the certificates it has issued, in files.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
    issued: AtomicUsize,
}

/// A certificate and its key, in PEM files that live as long as the authority.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// An authority with a key of its own.
    ///
    /// # Panics
    /// If there is no randomness or no place for files.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let folder = TempDir::new().expect("a folder");
        // A name of its own: of two authorities with one name, the wrong one looks like the right
        // one with a bad signature.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, folder.path().to_string_lossy());
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        fs::write(folder.path().join("ca.pem"), issuer.pem()).expect("the folder is ours");
        Self { issuer, folder, issued: AtomicUsize::new(0) }
    }

    /// Its own certificate, for those who trust it.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Issues a certificate for a host name, with its key.
    pub fn issue(&self, host: &str) -> Identity {
        self.issue_with(host, |_| {})
    }

    /// Issues a certificate that ended in 2021.
    pub fn issue_expired(&self, host: &str) -> Identity {
        self.issue_with(host, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    fn issue_with(&self, host: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a host name");
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let name = self.issued.fetch_add(1, Ordering::Relaxed);
        let path = |end: &str| self.folder.path().join(format!("{name}.{end}.pem"));
        let identity = Identity { certificate: path("certificate"), key: path("key") };
        fs::write(&identity.certificate, certificate.pem()).expect("the folder is ours");
        fs::write(&identity.key, key.serialize_pem()).expect("the folder is ours");
        identity
    }
}
