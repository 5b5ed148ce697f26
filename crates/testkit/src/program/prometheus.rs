//! Prometheus, which scrapes what is under test and answers questions about it.

use std::{
    fs, io,
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Command,
};

use super::{Program, START_TIME_MAX, exchange};
use crate::process::wait;

/// Scrapes one address.
#[derive(Debug, Clone)]
pub struct Prometheus {
    target: SocketAddr,
    token: Option<String>,
}

impl Prometheus {
    /// It asks `/metrics` of this address, with this bearer token.
    pub fn of(target: SocketAddr, token: Option<&str>) -> Self {
        Self { target, token: token.map(str::to_owned) }
    }
}

impl Program for Prometheus {
    fn executable(&self) -> &'static str {
        "prometheus"
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()> {
        let login = self.token.as_ref().map_or_else(String::new, |token| {
            format!("\n    authorization: {{ credentials: \"{token}\" }}")
        });
        let text = format!(
            "global: {{ scrape_interval: 200ms, scrape_timeout: 200ms }}\n\
             scrape_configs:\n  - job_name: under_test\n    static_configs: [{{ targets: [\"{}\"] }}]{login}\n",
            self.target
        );
        let file = folder.join("prometheus.yml");
        fs::write(&file, text)?;
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        Ok(())
    }

    /// It listens before it is ready, and says so meanwhile.
    fn is_at_work(&self, stream: &mut TcpStream) -> bool {
        let Ok(address) = stream.peer_addr() else { return false };
        let request = b"GET /-/ready HTTP/1.0\r\nhost: localhost\r\n\r\n";
        wait(START_TIME_MAX, || {
            let asked = TcpStream::connect(address);
            asked.is_ok_and(|mut stream| {
                exchange(&mut stream, request, b"Ready.\n").starts_with(b"HTTP/1.0 200")
            })
        })
    }
}
