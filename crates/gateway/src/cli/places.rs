//! Where `qlio serve` listens, from flags and settings.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs},
    sync::Arc,
};

use crate::{
    config::FrontSettings,
    http::{
        forwarded::Networks,
        server::{Address, Door, Listen, ListenText},
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
pub(super) fn named(host: Option<&str>, ports: &[u16]) -> Result<Option<Vec<SocketAddr>>, String> {
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
) -> Result<(Vec<Listen>, Option<Arc<TlsFront>>), String> {
    let tls = TlsFront::load(&settings.tls).map_err(|problem| problem.to_string())?.map(Arc::new);
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
            .ok_or_else(|| format!("`listen`: `{text}` is no place to listen at"))?;
        if place.tls && tls.is_none() {
            return Err(format!("`listen`: `{text}` needs a certificate, `tls.certificate`"));
        }
        if place.proxy && proxies.is_empty() && matches!(place.address, Address::Tcp(_)) {
            return Err(format!(
                "`listen`: `{text}` needs the networks of its proxies, `trust.proxies`"
            ));
        }
        let door = door(place.tls, place.proxy);
        Ok(Listen { address: place.address, door, inherited: None })
    };
    let listens = texts.iter().map(listen).collect::<Result<_, String>>()?;
    Ok((listens, tls))
}

/// The places with the listeners that somebody else has opened for them. Without a setting that names places all of
/// them are alike, however many there are.
///
/// # Errors
/// There are not as many as places that need one.
pub(super) fn inherit(
    listens: Vec<Listen>,
    inherited: Vec<Arc<TcpListener>>,
) -> Result<Vec<Listen>, String> {
    let Some(first) = listens.first().filter(|_| !inherited.is_empty()) else {
        return Ok(listens);
    };
    let is_alike = |listen: &Listen| Arc::ptr_eq(&listen.door, &first.door);
    let bound = |listen: &Listen, inherited: Arc<TcpListener>| {
        let address = inherited.local_addr().map_err(|error| error.to_string())?;
        let address = Address::Tcp(address);
        Ok(Listen { address, inherited: Some(inherited), ..listen.clone() })
    };
    if listens.iter().all(is_alike) {
        return inherited.into_iter().map(|inherited| bound(first, inherited)).collect();
    }
    let is_tcp = |listen: &Listen| matches!(listen.address, Address::Tcp(_));
    let (wanted, found) = (listens.iter().filter(|listen| is_tcp(listen)).count(), inherited.len());
    if wanted != found {
        return Err(format!(
            "`listen`: {found} sockets were handed over for {wanted} addresses; there has to be one for each, in the same order"
        ));
    }
    let mut inherited = inherited.into_iter();
    let listens = listens.into_iter().map(|listen| {
        let own = if is_tcp(&listen) { inherited.next() } else { None };
        own.map_or(Ok(listen.clone()), |own| bound(&listen, own))
    });
    listens.collect()
}

/// Whether only this machine reaches a place.
pub(super) fn is_local(listen: &Listen) -> bool {
    match &listen.address {
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
        Address::Unix(..) => true,
    }
}

/// The addresses of a host with each of the ports.
fn addresses(host: &str, ports: &[u16]) -> Result<Vec<SocketAddr>, String> {
    let ip = match host.parse::<IpAddr>() {
        Ok(ip) => ip,
        // One family is enough for a name such as localhost, and a free port must be one port.
        Err(_) => match (host, 0).to_socket_addrs().map(|mut found| found.next()) {
            Ok(Some(address)) => address.ip(),
            Ok(None) => return Err(format!("`{host}` has no address")),
            Err(error) => return Err(format!("cannot resolve `{host}`: {error}")),
        },
    };
    Ok(ports.iter().map(|port| SocketAddr::new(ip, *port)).collect())
}
