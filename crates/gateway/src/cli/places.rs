//! Where `qlio serve` listens, from flags and settings.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    sync::Arc,
};

use anyhow::{Context, bail, ensure};

use crate::{
    config::FrontSettings,
    http::{
        forwarded::Networks,
        server::{Address, Door, InheritedListener, Listen, ListenText, SOCKET_MODE},
    },
    tls::TlsFront,
};

/// The host and port if nothing is said.
const HOST: &str = "127.0.0.1";
const PORT: u16 = 3000;

/// The addresses that flags name, if they name any.
///
/// # Errors
/// The host has no address.
pub(super) fn named(host: Option<&str>, ports: &[u16]) -> anyhow::Result<Option<Vec<SocketAddr>>> {
    if host.is_none() && ports.is_empty() {
        return Ok(None);
    }
    let ports = if ports.is_empty() { &[PORT] } else { ports };
    addresses(host.unwrap_or(HOST), ports).map(Some)
}

/// All places to listen at: those that flags name, else those of the settings, else the usual one. Also the
/// certificates, if there are any.
///
/// # Errors
/// Certificates that cannot be used, or that a place lacks.
pub(super) fn places(
    named: Option<Vec<SocketAddr>>,
    settings: &FrontSettings,
) -> anyhow::Result<(Vec<Listen>, Option<Arc<TlsFront>>)> {
    let tls = TlsFront::load(&settings.tls)?.map(Arc::new);
    let texts = &settings.listen.places;
    let proxies = Arc::new(Networks::new(&settings.trust.proxies));
    let door = |is_tls: bool, is_proxied: bool| {
        let tls = tls.clone().filter(|_| is_tls);
        let proxies = is_proxied.then(|| Arc::clone(&proxies));
        Arc::new(Door { tls, proxies, plain_http2: settings.listen.plain_http2 })
    };
    let usual = || vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT)];
    if let Some(addresses) = named.or_else(|| texts.is_empty().then(usual)) {
        let door = door(true, false);
        let listen = |address| Listen { door: Arc::clone(&door), ..Listen::plain(address) };
        return Ok((addresses.into_iter().map(listen).collect(), tls));
    }
    let listen = |text: &String| {
        // What cannot be read has been reported, and is a guard: nothing starts with it.
        let place = ListenText::parse(text)
            .with_context(|| format!("`listen`: `{text}` is no place to listen at"))?;
        if place.tls && tls.is_none() {
            bail!("`listen`: `{text}` needs a certificate, `tls.certificate`");
        }
        if place.proxy && proxies.is_empty() && matches!(place.address, Address::Tcp(_)) {
            bail!("`listen`: `{text}` needs the networks of its proxies, `trust.proxies`");
        }
        let door = door(place.tls, place.proxy);
        Ok(Listen { address: place.address, door, inherited: None })
    };
    let listens = texts.iter().map(listen).collect::<anyhow::Result<_>>()?;
    Ok((listens, tls))
}

/// The places with the listeners that somebody else has opened for them: those of TCP in their order, unix sockets by
/// their path. Without a setting that names several places all of them are alike, however many there are.
///
/// # Errors
/// There are listeners that belong to no place, or some of the addresses would have none.
pub(super) fn inherit(
    listens: Vec<Listen>,
    inherited: Vec<Arc<InheritedListener>>,
) -> anyhow::Result<Vec<Listen>> {
    let Some(first) = listens.first().filter(|_| !inherited.is_empty()) else {
        return Ok(listens);
    };
    let mut handed = Vec::new();
    for listener in inherited {
        handed.push((address_of(&listener)?, listener));
    }
    let bound = |listen: &Listen, (address, listener)| Listen {
        address,
        inherited: Some(listener),
        ..listen.clone()
    };
    if listens.iter().all(|listen| Arc::ptr_eq(&listen.door, &first.door)) {
        return Ok(handed.into_iter().map(|handed| bound(first, handed)).collect());
    }
    let is_tcp = |address: &Address| matches!(address, Address::Tcp(_));
    let (tcp, mut unix): (Vec<_>, Vec<_>) =
        handed.into_iter().partition(|(address, _)| is_tcp(address));
    let wanted = listens.iter().filter(|listen| is_tcp(&listen.address)).count();
    let found = tcp.len();
    ensure!(
        found == 0 || found == wanted,
        "`listen`: {found} sockets were handed over for {wanted} addresses; there has to be one for each, in the same order"
    );
    let mut tcp = tcp.into_iter();
    let mut own = |listen: &Listen| match &listen.address {
        Address::Tcp(_) => tcp.next(),
        Address::Unix(path, _) => {
            let is_it = |address: &Address| matches!(address, Address::Unix(at, _) if at == path);
            let at = unix.iter().position(|(address, _)| is_it(address))?;
            Some(unix.swap_remove(at))
        }
    };
    let mut places = Vec::with_capacity(listens.len());
    for listen in listens {
        let place = own(&listen).map_or_else(|| listen.clone(), |own| bound(&listen, own));
        places.push(place);
    }
    if let Some((Address::Unix(path, _), _)) = unix.first() {
        let path = path.display();
        bail!("`listen`: the socket `{path}` was handed over and is not among the places");
    }
    Ok(places)
}

/// Where a listener is that somebody else has opened.
fn address_of(listener: &InheritedListener) -> anyhow::Result<Address> {
    let what = "a socket that was handed over";
    Ok(match listener {
        InheritedListener::Tcp(listener) => Address::Tcp(listener.local_addr().context(what)?),
        InheritedListener::Unix(listener) => {
            let address = listener.local_addr().context(what)?;
            let path = address.as_pathname().with_context(|| format!("{what} has no path"))?;
            Address::Unix(path.to_owned(), SOCKET_MODE)
        }
    })
}

/// Whether only this machine reaches a place.
pub(super) fn is_local(listen: &Listen) -> bool {
    match &listen.address {
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
        Address::Unix(..) => true,
    }
}

/// The addresses of a host with each of the ports.
fn addresses(host: &str, ports: &[u16]) -> anyhow::Result<Vec<SocketAddr>> {
    let ip = if let Ok(ip) = host.parse::<IpAddr>() {
        ip
    } else {
        // One family is enough for a name such as localhost, and a free port must be one port.
        let found = (host, 0).to_socket_addrs();
        let mut found = found.with_context(|| format!("cannot resolve `{host}`"))?;
        found.next().with_context(|| format!("`{host}` has no address"))?.ip()
    };
    Ok(ports.iter().map(|port| SocketAddr::new(ip, *port)).collect())
}
