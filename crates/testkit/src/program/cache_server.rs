//! memcached, Redis, and Redis as a cluster of one.

use std::{
    fs, io,
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::{Identity, Program, START_TIME_MAX, exchange, free_port};

/// A server that keeps values for a while.
#[derive(Debug, Clone)]
pub enum CacheServer {
    /// memcached.
    Memcached,
    /// Redis.
    Redis,
    /// Redis that speaks TLS only, with this certificate.
    RedisOverTls(Identity),
    /// One node of Redis that is the whole cluster.
    RedisCluster,
}

impl Program for CacheServer {
    fn executable(&self) -> &'static str {
        match self {
            Self::Memcached => "memcached",
            Self::Redis | Self::RedisOverTls(_) | Self::RedisCluster => "redis-server",
        }
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()> {
        let port = port.to_string();
        if let Self::Memcached = self {
            // It refuses to run as root without being told to; for others the option is ignored.
            command.args(["-l", "127.0.0.1", "-U", "0", "-u", "root", "-p", &port]);
            return Ok(());
        }
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]);
        command.arg(folder);
        match self {
            Self::RedisOverTls(identity) => {
                command.args(["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"]);
                command.arg("--tls-cert-file").arg(&identity.certificate);
                command.arg("--tls-key-file").arg(&identity.key);
                // It wants to know whom it would trust, even if it asks nobody.
                command.arg("--tls-ca-cert-file").arg(&identity.certificate);
            }
            Self::RedisCluster => {
                // What an earlier start has noted about ports and slots does not hold any more.
                fs::remove_file(folder.join("nodes.conf")).or_else(absent_is_fine)?;
                // The bus is by default ten thousand ports higher, maybe too high.
                let bus_port = free_port().to_string();
                command.args(["--port", &port, "--cluster-enabled", "yes"]);
                command.args(["--cluster-port", &bus_port]);
            }
            Self::Memcached | Self::Redis => {
                command.args(["--port", &port]);
            }
        }
        Ok(())
    }

    fn is_at_work(&self, stream: &mut TcpStream) -> bool {
        match self {
            Self::Memcached => exchange(stream, b"version\r\n", b"\r\n").starts_with(b"VERSION"),
            Self::Redis => exchange(stream, b"PING\r\n", b"\r\n") == b"+PONG\r\n",
            // It listens, and whoever connects shakes hands first.
            Self::RedisOverTls(_) => true,
            Self::RedisCluster => {
                exchange(stream, b"CLUSTER ADDSLOTSRANGE 0 16383\r\n", b"\r\n");
                let deadline = Instant::now() + START_TIME_MAX;
                while Instant::now() < deadline {
                    if exchange(stream, b"SET probe x\r\n", b"\r\n") == b"+OK\r\n" {
                        return true;
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                false
            }
        }
    }
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
