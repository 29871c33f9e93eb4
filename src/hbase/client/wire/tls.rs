//! TLS to the servers of a cluster: whom to believe, and as whom to come.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::hbase::client::error::{Error, Kind, Result};

/// Where systems keep the authorities that they believe.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// What an address says of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Authorities, PEM; those of the system unless it is given.
    pub authorities: Option<PathBuf>,
    /// The client's certificate with those above it, and its key, PEM.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// See the module.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

fn wrong(path: &Path, what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Address, format!("{}: {what}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|e| wrong(path, format!("no certificates in PEM: {e}")))?;
    if all.is_empty() { Err(wrong(path, "it has no certificate in PEM")) } else { Ok(all) }
}

impl Tls {
    /// Reads the files.
    pub fn load(options: &TlsOptions) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        let system = || SYSTEM.iter().map(Path::new).find(|path| path.exists());
        let path = options.authorities.as_deref().or_else(system);
        let path = path.ok_or_else(|| {
            let text = "this system has no list of authorities: name the cluster's with tls_ca=FILE in its address";
            Error::new(Kind::Address, text)
        })?;
        let (taken, _) = roots.add_parsable_certificates(certificates(path)?);
        if taken == 0 {
            return Err(wrong(path, "none of its certificates can be read"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let refused = |e: rustls::Error| Error::new(Kind::Address, format!("TLS: {e}"));
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(refused)?.with_root_certificates(roots);
        let config = match (&options.certificate, &options.key) {
            (Some(certificate), Some(key)) => {
                let own = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, format!("no key in PEM: {e}")))?;
                config.with_client_auth_cert(certificates(certificate)?, own).map_err(refused)?
            }
            _ => config.with_no_client_auth(),
        };
        Ok(Self(Arc::new(config)))
    }

    /// The client's side of a connection to a host, whose certificate has to name it.
    pub(in crate::hbase::client) fn begin(&self, host: &str) -> io::Result<ClientConnection> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)
    }
}
