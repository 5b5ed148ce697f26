//! `qlio mock`: a folder of canned answers as upstream APIs.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{Exit, report, serve::StopSignals};
use crate::mock::{MockOptions, serve};

#[derive(Debug, Args)]
pub(super) struct MockArgs {
    /// Folder of answers.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 picks a free one.
    #[arg(long, short = 'p', default_value_t = 0)]
    port: u16,
    /// Delay of every answer, in milliseconds.
    #[arg(long, default_value_t = 0, value_name = "MS")]
    latency: u64,
    /// Print every request on stderr.
    #[arg(long)]
    log: bool,
}

pub(super) fn mock(args: &MockArgs) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            report::error(&format!("cannot start: {error}"));
            return Exit::Usage;
        }
    };
    runtime.block_on(async {
        let mut options = MockOptions::new(&args.folder);
        options.host.clone_from(&args.host);
        options.port = args.port;
        options.latency = Duration::from_millis(args.latency);
        if args.log {
            options.log = Some(Box::new(std::io::stderr()));
        }
        match serve(options).await {
            Ok(server) => {
                let mut signals = match StopSignals::listen() {
                    Ok(signals) => signals,
                    Err(error) => {
                        report::error(&format!("cannot listen to signals: {error}"));
                        return Exit::Usage;
                    }
                };
                report::data(&server.url());
                server.run(signals.next()).await;
                Exit::Success
            }
            Err(error) => {
                report::error(&error.to_string());
                Exit::Usage
            }
        }
    })
}
