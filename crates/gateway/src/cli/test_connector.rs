//! `qlio test connector`: what authors of connectors out of process want to know of theirs.

use std::time::Instant;

use anyhow::Context;
use clap::{Args, Subcommand};
use qlio_engine::{
    RemoteClient,
    transport::{Transport, TransportSettings},
};
use qlio_plan::catalog::{Address, RemoteFile};

use super::{Exit, Failure, report};
use crate::suite::{Format, Report, check_connector};

/// What else can be tested.
#[derive(Debug, Subcommand)]
pub(super) enum TestCommand {
    /// Ask a running connector what its author has to get right; nothing is written.
    Connector(ConnectorArgs),
}

#[derive(Debug, Args)]
pub(super) struct ConnectorArgs {
    /// Where it is: `http://host:port`, `https://…`, or `unix:` and the whole path of a socket.
    address: String,
    /// A header that goes with every request, `name: value`; may be repeated.
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,
}

pub(super) fn test_connector(args: &ConnectorArgs) -> Result<Exit, Failure> {
    let address = Address::parse(&args.address, "connector").with_context(|| {
        format!(
            "`{}` is no address such as `http://127.0.0.1:7071` or `unix:/run/x.sock`",
            args.address
        )
    })?;
    let split = |header: &String| {
        let (name, value) =
            header.split_once(':').with_context(|| format!("`{header}` is not `name: value`"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    let headers = args.headers.iter().map(split).collect::<anyhow::Result<_>>()?;
    let file = RemoteFile { address, headers };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let transport = Transport::new(TransportSettings::default()).map_err(anyhow::Error::from)?;
    let begun = Instant::now();
    let outcomes = runtime.block_on(check_connector(&RemoteClient::new(&transport, &file)));
    let names = outcomes.iter().map(|outcome| outcome.name.as_str());
    let (mut told, head) = Report::begin(Format::Tap, "connector", names);
    report::raw(&head);
    for outcome in &outcomes {
        report::raw(&told.add(outcome));
    }
    report::raw(&told.end(begun.elapsed()));
    Ok(if told.is_passed() { Exit::Success } else { Exit::Failed })
}
