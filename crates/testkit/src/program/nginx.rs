//! nginx, as an upstream that somebody else has written.

use std::{fs, io, path::Path, process::Command};

use super::Program;

/// A master with two workers, so that a reload is one.
///
/// In its configuration `{port}` stands for the port, `{folder}` for the folder it was started in.
/// Logs and temporary files are in that folder, too.
#[derive(Debug, Clone)]
pub struct Nginx {
    servers: String,
    files: Vec<(String, Vec<u8>)>,
}

/// The module that answers in Brotli, where Debian puts it.
const BROTLI_MODULE: &str = "/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so";

/// Everything around the server blocks. As root its workers stay root, because the folder is ours
/// alone; for anybody else that line is without effect.
const FRAME: &str = "
daemon off;
user root;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events { worker_connections 1024; }
http {
    access_log off;
    default_type application/json;
    client_body_temp_path {folder}/temp-1;
    proxy_temp_path {folder}/temp-2;
    fastcgi_temp_path {folder}/temp-3;
    uwsgi_temp_path {folder}/temp-4;
    scgi_temp_path {folder}/temp-5;
    {servers}
}
";

impl Nginx {
    /// With these server blocks.
    pub fn new(servers: impl Into<String>) -> Self {
        Self { servers: servers.into(), files: Vec::new() }
    }

    /// With a file in its folder.
    #[must_use]
    pub fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// Whether the module for Brotli is installed.
    pub fn has_brotli() -> bool {
        Path::new(BROTLI_MODULE).is_file()
    }
}

impl Program for Nginx {
    fn executable(&self) -> &'static str {
        "nginx"
    }

    fn configure(&self, command: &mut Command, port: u16, folder: &Path) -> io::Result<()> {
        for (name, content) in &self.files {
            fs::write(folder.join(name), content)?;
        }
        let module = if Self::has_brotli() {
            format!("load_module {BROTLI_MODULE};")
        } else {
            String::new()
        };
        let text = module + &FRAME.replace("{servers}", &self.servers);
        let text = text.replace("{port}", &port.to_string());
        let text = text.replace("{folder}", &folder.to_string_lossy());
        let file = folder.join("nginx.conf");
        fs::write(&file, text)?;
        command.arg("-c").arg(file).arg("-p").arg(folder);
        Ok(())
    }
}
