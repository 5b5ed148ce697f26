use qlio_testkit::program::Authority;

use super::*;

fn settings(identities: &[&qlio_testkit::program::Identity]) -> TlsSettings {
    let text = |path: &Path| path.display().to_string();
    TlsSettings {
        certificates: identities.iter().map(|identity| text(&identity.certificate)).collect(),
        keys: identities.iter().map(|identity| text(&identity.key)).collect(),
        ..TlsSettings::default()
    }
}

#[test]
fn the_certificate_of_a_name_is_found() {
    let authority = Authority::new();
    let [first, shop, any] =
        ["first.test", "shop.test", "*.shop.test"].map(|name| authority.issue(name));
    let provider = ring::default_provider();
    let pair = |identity: &qlio_testkit::program::Identity| {
        let (pair, facts) =
            read_pair(&identity.certificate, &identity.key, &provider).expect("fits");
        (facts.names, Arc::new(pair))
    };
    let pairs = [&first, &shop, &any].map(pair);
    let by_name = pairs
        .iter()
        .flat_map(|(names, pair)| names.iter().map(|name| (name.clone(), Arc::clone(pair))))
        .collect();
    let certificates = Certificates { by_name, first: Arc::clone(&pairs[0].1) };
    for (name, expected) in [
        (None, 0),
        (Some("first.test"), 0),
        (Some("other.test"), 0),
        (Some("Shop.Test"), 1),
        (Some("a.shop.test"), 2),
        (Some("a.b.shop.test"), 0),
    ] {
        assert!(Arc::ptr_eq(certificates.of_name(name), &pairs[expected].1), "{name:?}");
    }
}

#[test]
fn a_broken_set_says_why_and_leaves_what_holds() {
    let authority = Authority::new();
    let [one, two] = ["one.test", "two.test"].map(|name| authority.issue(name));
    let front = TlsFront::load(&settings(&[&one])).expect("it fits").expect("there is one");
    let (held, expires_at) = (front.config(), front.expires_at());
    fs::copy(&two.key, &one.key).expect("the folder is ours");
    let problem = front.read_anew().expect_err("the key is of another certificate").to_string();
    assert!(problem.starts_with("`tls.key`:") && problem.contains("does not belong"), "{problem}");
    assert!(Arc::ptr_eq(&held, &front.config()));
    fs::copy(&two.certificate, &one.certificate).expect("the folder is ours");
    let fresh = front.read_anew().expect("they belong together");
    assert!(Arc::ptr_eq(&held, &front.config()), "reading changes nothing");
    front.replace(fresh);
    assert!(!Arc::ptr_eq(&held, &front.config()));
    assert!(expires_at > 1_700_000_000 && front.expires_at() >= expires_at);
}

#[test]
fn what_cannot_be_used_is_named() {
    let authority = Authority::new();
    let one = authority.issue("one.test");
    let problem = |settings: &TlsSettings| match TlsFront::load(settings) {
        Err(problem) => problem.to_string(),
        Ok(_) => panic!("it loads"),
    };
    let lonely = TlsSettings { keys: Vec::new(), ..settings(&[&one]) };
    assert!(problem(&lonely).contains("every certificate needs its key"));
    let swapped = TlsSettings {
        certificates: settings(&[&one]).keys,
        keys: settings(&[&one]).certificates,
        ..TlsSettings::default()
    };
    assert!(problem(&swapped).contains("no certificate in PEM"), "{}", problem(&swapped));
    let missing =
        TlsSettings { certificates: vec!["/no/such/file".to_owned()], ..settings(&[&one]) };
    assert!(problem(&missing).contains("`/no/such/file`"), "{}", problem(&missing));
    let bare = TlsSettings { client_authorities: Some(authority.file()), ..TlsSettings::default() };
    assert!(problem(&bare).starts_with("`tls.clientAuthorities`"));
    assert!(TlsFront::load(&TlsSettings::default()).expect("none is fine").is_none());
    let large = authority.folder().join("large.pem");
    fs::write(&large, vec![b'x'; FILE_BYTES_MAX as usize + 1]).expect("the folder is ours");
    let large = TlsSettings { keys: vec![large.display().to_string()], ..settings(&[&one]) };
    assert!(problem(&large).contains("more than"), "{}", problem(&large));
}

#[test]
fn a_client_is_who_its_certificate_says() {
    let authority = Authority::new();
    let of = |name: &str| {
        let issued = authority.issue(name);
        let pem = fs::read(&issued.certificate).expect("the folder is ours");
        identity(&CertificateDer::from_pem_slice(&pem).expect("one"))
    };
    assert_eq!(of("worker.shop.test").as_deref(), Some("worker.shop.test"));
    assert_eq!(identity(&CertificateDer::from(vec![0x30, 0x80, 1])), None);
}
