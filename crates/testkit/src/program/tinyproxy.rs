//! tinyproxy, as a forward proxy that somebody else has written.

use std::{fmt::Write as _, fs, io, path::Path, process::Command};

use super::{Program, Running};

/// A forward proxy for plain HTTP and tunnels; answers carry `via: 1.1 tinyproxy`.
#[derive(Debug, Clone, Default)]
pub struct Tinyproxy {
    login: Option<(String, String)>,
}

impl Tinyproxy {
    /// Only for who knows this user and password.
    pub fn with_login(user: &str, password: &str) -> Self {
        Self { login: Some((user.to_owned(), password.to_owned())) }
    }
}

impl Program for Tinyproxy {
    fn executable(&self) -> &'static str {
        "tinyproxy"
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()> {
        let log = folder.join("tinyproxy.log");
        let mut text = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 200\nViaProxyName \"tinyproxy\"\n\
             LogFile \"{}\"\nLogLevel Connect\n",
            log.display()
        );
        if let Some((user, password)) = &self.login {
            // Writing to a string cannot fail.
            writeln!(text, "BasicAuth {user} {password}").ok();
        }
        let file = folder.join("tinyproxy.conf");
        fs::write(&file, text)?;
        command.arg("-d").arg("-c").arg(file);
        Ok(())
    }
}

impl Running<Tinyproxy> {
    /// How many of the requests so far asked for a tunnel.
    pub fn tunnels(&self) -> usize {
        let log = fs::read_to_string(self.folder().join("tinyproxy.log")).unwrap_or_default();
        log.lines().filter(|line| line.contains(": CONNECT ")).count()
    }
}
