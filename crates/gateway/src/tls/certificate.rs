//! What a certificate says: its names, until when it holds, and who the client is that shows it.

use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::{
    certificate::X509Certificate, error::X509Error, extensions::GeneralName, nom,
    prelude::FromDer as _,
};

/// Characters of an identity.
const IDENTITY_CHARS_MAX: usize = 256;

/// What matters of a server's certificate.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Names in lower case, some of which may begin with `*.`.
    pub(super) names: Vec<String>,
    /// Seconds since 1970.
    pub(super) expires_at: i64,
}

/// A certificate that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the certificate cannot be read: {0}")]
pub(super) struct CertificateError(#[from] nom::Err<X509Error>);

/// Reads a certificate.
pub(super) fn facts(certificate: &CertificateDer<'_>) -> Result<Facts, CertificateError> {
    let (_, parsed) = X509Certificate::from_der(certificate)?;
    let names = alternatives(&parsed).into_iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    Ok(Facts { names: names.collect(), expires_at: parsed.validity().not_after.timestamp() })
}

/// Who a client is: the first URI of its certificate, else the first name, else the common name of its subject.
/// Nothing where that is no text that a header can carry.
pub(crate) fn identity(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let alternatives = alternatives(&parsed);
    let uri = alternatives.iter().find_map(|name| match name {
        GeneralName::URI(uri) => Some(*uri),
        _ => None,
    });
    let name = || {
        alternatives.iter().find_map(|name| match name {
            GeneralName::DNSName(name) => Some(*name),
            _ => None,
        })
    };
    let common = || parsed.subject().iter_common_name().find_map(|name| name.as_str().ok());
    let identity = uri.or_else(name).or_else(common)?;
    let is_plain = identity.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    (is_plain && !identity.is_empty() && identity.len() <= IDENTITY_CHARS_MAX)
        .then(|| identity.to_owned())
}

fn alternatives<'c>(certificate: &'c X509Certificate<'_>) -> Vec<&'c GeneralName<'c>> {
    let extension = certificate.subject_alternative_name().ok().flatten();
    extension.map(|found| found.value.general_names.iter().collect()).unwrap_or_default()
}
