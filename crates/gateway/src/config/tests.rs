//! Settings as files, flags and the environment give them.

use std::{path::PathBuf, time::Duration};

use qlio_data::{
    Object,
    codec::{json, xml::Coerce},
};
use qlio_engine::{
    cache::Backend,
    transport::{BackoffScope, ProxyLogin, ProxyTarget},
};

use super::{front::ListenSettings, *};
use crate::{
    admin::AdminSettings,
    heavy::HeavySettings,
    http::{
        disclosure::{ErrorDetail, MetadataScope},
        forwarded::ForwardedHeader,
        gate::TrustSettings,
        logs::{LogFormat, LogLevel},
        pace::Pace,
        quota::KeepLimits,
        spans::{ExportProtocol, Fraction, Sampler, TraceSettings, TraceTrust},
        trace::TraceLevel,
        websocket::SocketLimits,
    },
    tls::{ClientCertificate, TlsSettings, TlsVersion},
};

fn parsed(text: &str) -> (Config, Vec<ConfigProblem>) {
    parse(text, Path::new("config.json"), &CommandLine::default())
}

fn config(text: &str) -> Config {
    let (config, problems) = parsed(text);
    assert_eq!(problems, [], "{text}");
    config
}

fn told(text: &str) -> Vec<String> {
    let (_, problems) = parsed(text);
    problems.iter().map(|problem| format!("{} {problem}", problem.code().slug)).collect()
}

#[test]
fn all_spellings_of_a_setting_are_understood() {
    assert_eq!(config(r#"{"maxRequests": 7}"#).settings.nested_requests_max, 7);
    assert_eq!(config(r#"{"maxNestedRequests": "8"}"#).settings.nested_requests_max, 8);
    let limited = config(r#"{"maxResponseSize": 9}"#).settings;
    assert_eq!((limited.response_bytes_max, limited.decoded_bytes_max), (9, 90));
    for text in [
        r#"{"requestId": "X-Id"}"#,
        r#"{"request-id": "x-id"}"#,
        r#"{"requestId": {"header": "x-id", "trail": true}}"#,
    ] {
        let settings = config(text).settings;
        assert_eq!(settings.request_id_header, "x-id");
        assert_eq!(settings.request_id_trail, text.contains("trail"));
    }
    for text in [r#"{"adhoc": true}"#, r#"{"adhoc": {"enabled": "true", "config": ["a"]}}"#] {
        assert!(config(text).front.adhoc, "{text}");
    }
    let narrow = config(r#"{"adhoc": {"config": ["a"]}}"#);
    assert_eq!((narrow.front.adhoc, narrow.settings.adhoc_config), (false, vec!["a".to_owned()]));
}

#[test]
#[expect(clippy::too_many_lines, reason = "every setting of this part stands in it")]
fn settings_of_endpoints_and_scripts_are_read() {
    let read = config(
        r#"{"trace": "full", "errors": "full", "metadata": "none", "jsonp": true, "ecvPath": "/up",
            "ecvControl": "true", "wsOrigins": ["https://a.test"], 
            "trust": {"hosts": "api.test", "proxies": "10.0.0.0/8", "forwardedHeader": "forwarded"}, "wsMaxFrame": 10,
            "wsMaxMessage": "20", "wsPingInterval": 30, "wsPongTimeout": 40, "logs": "var/logs",
            "wsMaxConnections": 1, "wsMaxSessions": 2, "wsMaxQueue": 3, "wsIdleTimeout": 4,
            "wsSessionIdle": 5, "wsSessionTime": 6, "maxBodiesMemory": 7, "maxAnswersMemory": "8", "maxUpstreamMemory": 14,
            "maxConnections": 9, "body": {"pauseMs": 10, "minBytesPerSecond": 11},
            "answer": {"pauseMs": 12, "minBytesPerSecond": 13},
            "xml": {"coerce": "none"}, "backoff": {"scope": "origin"},
            "heavy": {"threads": 3, "maxWaiting": 7},
            "listen": ["3443 tls"], "http2": {"plain": true, "maxStreams": 15},
            "tls": {"certificate": "a.pem", "key": ["a.key"], "minVersion": "1.3", "clientAuthorities": "ca.pem",
                "clientCertificate": "optional", "identityHeader": "x-client", "handshakeMs": 16, "maxHandshakes": 17},
            "admin": {"listen": "3001", "token": "0123456789abcdef"},
            "drainDelay": 15, "grace": "16", "log": {"format": "json", "level": "debug"},
            "traces": {"endpoint": "http://c:4318", "accept": "all", "disabled": true, "timeoutMs": 18, "ratio": "0.5",
                "sampler": "traceidratio", "service": "shop", "resource": "a=b", "headers": "c=d", "maxQueue": 19},
            "hooks": {"timeMs": 5, "memoryMiB": 2, "async": true}}"#,
    );
    assert_eq!(read.secrets, ["0123456789abcdef"]);
    let sockets = SocketLimits {
        frame_bytes_max: 10,
        message_bytes_max: 20,
        queue_bytes_max: 3,
        idle_timeout: Duration::from_millis(4),
        session_pause_max: Duration::from_millis(5),
        session_time_max: Duration::from_millis(6),
        ping_interval: Duration::from_millis(30),
        pong_timeout: Duration::from_millis(40),
    };
    let expected = FrontSettings {
        adhoc: false,
        console: false,
        errors: ErrorDetail::Full,
        metadata: MetadataScope::None,
        trace: TraceLevel::Full,
        jsonp: true,
        ecv_path: "/up".to_owned(),
        ecv_control: true,
        trust: TrustSettings {
            hosts: vec!["api.test".to_owned()],
            origins: vec!["https://a.test".to_owned()],
            proxies: vec!["10.0.0.0/8".to_owned()],
            forwarded: ForwardedHeader::Forwarded,
        },
        sockets,
        connections_max: 9,
        body_pace: Pace { pause_max: Duration::from_millis(10), rate_min: 11 },
        answer_pace: Pace { pause_max: Duration::from_millis(12), rate_min: 13 },
        keep: KeepLimits {
            bodies_bytes_max: 7,
            answers_bytes_max: 8,
            upstream_bytes_max: 14,
            sockets_max: 1,
            sessions_max: 2,
        },
        heavy: HeavySettings { threads: Some(3), waiting_max: 7 },
        logs: Some(PathBuf::from("var/logs")),
        stdout: LogFormat::Json,
        log_level: LogLevel::Debug,
        traces: TraceSettings {
            accept: TraceTrust::All,
            is_disabled: true,
            endpoint: Some("http://c:4318".to_owned()),
            headers: Some("c=d".to_owned()),
            protocol: ExportProtocol::HttpProtobuf,
            timeout: Duration::from_millis(18),
            sampler: Sampler::Ratio,
            ratio: Fraction::new(0.5).unwrap(),
            service: Some("shop".to_owned()),
            resource: Some("a=b".to_owned()),
            queue_max: 19,
        },
        admin: AdminSettings {
            listen: Some("3001".to_owned()),
            token: Some("0123456789abcdef".to_owned()),
        },
        drain_delay: Duration::from_millis(15),
        grace: Duration::from_millis(16),
        listen: ListenSettings {
            places: vec!["3443 tls".to_owned()],
            plain_http2: true,
            streams_max: 15,
        },
        tls: TlsSettings {
            certificates: vec!["a.pem".to_owned()],
            keys: vec!["a.key".to_owned()],
            oldest: TlsVersion::V13,
            client_authorities: Some(PathBuf::from("ca.pem")),
            client: ClientCertificate::Optional,
            identity_header: Some("x-client".to_owned()),
            handshake_timeout: Duration::from_millis(16),
            handshakes_max: 17,
        },
    };
    assert_eq!(read.front, expected);
    let hooks = read.settings.hooks;
    assert_eq!((hooks.time.as_millis(), hooks.memory_bytes), (5, 2 << 20));
    assert!(hooks.allows_promises);
    assert_eq!(read.settings.xml_coerce, Coerce::None);
    assert_eq!(read.transport.backoff.scope, BackoffScope::Origin);
    assert_eq!(config("{}").front, FrontSettings::default());
}

#[test]
fn development_tells_clients_everything_unless_the_file_or_a_flag_says_otherwise() {
    let dev = |text: &str, flags| {
        let command_line = CommandLine { is_dev: true, flags, ..CommandLine::default() };
        parse(text, Path::new("config.json"), &command_line).0.front
    };
    let open = dev("{}", Vec::new());
    assert_eq!((open.errors, open.metadata), (ErrorDetail::Full, MetadataScope::All));
    assert_eq!((open.trace, open.adhoc, open.console), (TraceLevel::Full, true, true));
    let narrow = dev(r#"{"errors": "brief", "adhoc": false}"#, Vec::new());
    assert_eq!((narrow.errors, narrow.adhoc), (ErrorDetail::Brief, false));
    let switch = Flag { flag: "--enable-q", setting: "adhoc.enabled", value: Value::Bool(true) };
    assert!(dev(r#"{"adhoc": false}"#, vec![switch]).adhoc);
}

#[test]
fn values_of_the_wrong_kind_are_told_with_place_kind_wanted_and_kind_found() {
    let text = "{\n  \"timeout\": \"soon\",\n  \"jsonp\": 1,\n  \"trace\": \"all\", \"ecvPath\": \"ecv\",\n  \
                \"tls\": {\"caFile\": [\"a\"]},\n  \"wsMaxFrame\": 0, \"egress\": {\"allow\": {}},\n  \
                \"requestId\": {\"header\": \"a b\"}}";
    assert_eq!(
        told(text),
        [
            "bad-config config.json:2:3: setting `timeout` must be a whole number of milliseconds from 1 to 4294967295, not the text `soon`",
            "bad-config config.json:4:3: setting `trace` must be one of `none`, `progress`, `full`, not the text `all`",
            "bad-config config.json:3:3: setting `jsonp` must be `true` or `false`, not `1`",
            "bad-config config.json:5:11: setting `tls.caFile` must be a path, not a list",
            "bad-config config.json:6:31: setting `egress.allow` must be a list of texts, each a host pattern such as `host`, `*.domain`, `host:port` or a network, not an object",
            "bad-config config.json:7:17: setting `requestId.header` must be the name of a header, not the text `a b`",
            "bad-config config.json:4:19: setting `ecvPath` must be a path such as `/ecv`, not the text `ecv`",
            "bad-config config.json:6:3: setting `wsMaxFrame` must be a whole number from 1, not `0`",
        ]
    );
    assert_eq!(parsed(text).0.front, FrontSettings::default());
    for path in ["/", "/a/", "", "/a b", "/a?b"] {
        assert!(!front::is_health_path(path), "{path}");
    }
    let flag = Flag { flag: "--ecvPath", setting: "ecvPath", value: Value::from("ecv") };
    let command_line = CommandLine { flags: vec![flag], ..CommandLine::default() };
    let (_, problems) = read(None, &command_line);
    assert_eq!(
        problems[0].to_string(),
        "--ecvPath: setting `ecvPath` must be a path such as `/ecv`, not the text `ecv`"
    );
}

#[test]
fn problems_have_a_code_and_a_place() {
    let text = "{\n  \"tls\": {\"cafile\": \"a\"},\n  \"key\": \"${QLIO_NO_SUCH_VARIABLE}\"\n}";
    assert_eq!(
        told(text),
        [
            "missing-secret config.json:3:3: environment variable `QLIO_NO_SUCH_VARIABLE` is not set",
            "unknown-setting config.json:2:11: no setting is called `tls.cafile`; did you mean `caFile`?",
        ]
    );
    assert_eq!(
        told(r#"{"key": "${file:/run/key}"}"#),
        [
            "missing-secret config.json:1:2: a variable of the environment cannot be called `file:/run/key`; what is in a file stands as `file:/run/key`, without `${…}`",
        ]
    );
    assert!(told("{\n!")[0].starts_with("bad-json config.json:2:1: invalid JSON: "));
    assert_eq!(told("[]"), ["bad-config config.json: the settings must be one object"]);
}

#[test]
fn a_value_of_the_environment_is_a_secret_also_where_it_is_wrong() {
    // The only variable that every environment of a test has.
    let text = r#"{"timeout": "${PATH}", "mine": "${PATH}"}"#;
    let (config, problems) = parsed(text);
    let told = problems[0].to_string();
    assert!(told.ends_with("not what `PATH` of the environment holds"), "{told}");
    assert!(config.secrets.contains(&std::env::var("PATH").unwrap()));
    let source = Source::parse(text, Path::new("config.json")).0;
    let (_, effective, _) = Reading::of(source, &CommandLine::default()).finish();
    let mine = effective.iter().find(|setting| setting.name == "mine").unwrap();
    assert_eq!(mine.value.as_str(), Some("[redacted]"));
    assert_eq!(mine.origin.to_string(), "config.json:1:24");
}

#[test]
fn marked_values_are_secrets() {
    assert_eq!(config(r#"{"a": {"key": "s3cret"}, "secrets": ["a.key"]}"#).secrets, ["s3cret"]);
    let encoded = config(r#"{"key": "a+b/c=", "secrets": ["key"]}"#).secrets;
    assert_eq!(encoded, ["a%2Bb%2Fc%3D", "a+b/c="]);
    let text = r#"{"a": "key0", "b": "key01", "c": "abc", "secrets": ["a", "b", "c", "d"]}"#;
    assert_eq!(parsed(text).0.secrets, ["key01", "key0"]);
    assert_eq!(
        told(text),
        [
            "bad-config config.json:1:41: setting `secrets` names `c`, which has fewer than 4 bytes and stays visible",
            "bad-config config.json:1:41: setting `secrets` names `d`, which is no text",
        ]
    );
}

#[test]
fn proxies_are_read_in_order_and_may_want_a_login() {
    let read = config(r#"{"proxy": {"*": {"host": "px", "port": "3128"}, "intra.test": {}}}"#);
    let star = ProxyTarget { host: "px".to_owned(), port: 3128, login: None };
    assert_eq!(
        read.transport.proxies,
        [("*".to_owned(), Some(star)), ("intra.test".to_owned(), None)]
    );
    let read = config(r#"{"proxy": {"*": {"host": "px", "user": "me", "password": "s3cret"}}}"#);
    let (_, target) = &read.transport.proxies[0];
    assert_eq!(target.as_ref().unwrap().login, ProxyLogin::new("me", "s3cret"));
    assert!(!format!("{target:?}").contains("s3cret"));
    for (entry, blamed) in [
        (
            r#"{"host": "px", "user": "a:b"}"#,
            "proxy.*.user` must be text without a colon, not this text",
        ),
        (r#"{"host": "px", "user": ["a"]}"#, "proxy.*.user` must be text, not a list"),
        (r#"{"host": "px", "port": 70000}"#, "proxy.*.port` must be a port number, not `70000`"),
        (
            r#"{"host": "px", "password": "s3cret"}"#,
            "proxy.*.user` must be text beside a `password`, not missing",
        ),
        ("5", "proxy.*` must be an object with"),
    ] {
        let text = format!(r#"{{"proxy": {{"*": {entry}}}}}"#);
        let (config, problems) = parsed(&text);
        assert_eq!((config.transport.proxies, problems.len()), (Vec::new(), 1), "{entry}");
        assert!(problems[0].to_string().contains(blamed), "{}", problems[0]);
        assert!(!problems[0].to_string().contains("s3cret"), "{}", problems[0]);
    }
}

#[test]
fn a_cache_is_made_of_what_its_kind_needs() {
    assert_eq!(config("{}").cache, None);
    let memory = config(r#"{"cache": {"impl": "memory"}}"#).cache;
    assert_eq!(memory, Some(CacheSettings::new(Backend::Memory)));
    let small = config(r#"{"cache": {"impl": "memory", "options": {"maxBytes": 1000}}}"#);
    assert_eq!(small.cache.unwrap().memory_bytes, 1000);
    let one = Backend::Memcached { servers: vec!["h:1".to_owned()] };
    for cache in [
        r#""options": "h:1""#,
        r#""options": ["h:1"]"#,
        r#""options": {"config": "h:1"}"#,
        r#""options": {"config": ["h:1"], "options": {}}"#,
        r#""servers": ["h:1"]"#,
    ] {
        let text = format!(r#"{{"cache": {{"impl": "memcached", {cache}}}}}"#);
        assert_eq!(config(&text).cache.unwrap().backend, one, "{text}");
    }
    let tuned = config(
        r#"{"cache": {"impl": "memcached", "timeoutMs": 20, "options": {"config": "h:1",
           "options": {"maxValue": 10240000, "poolSize": "7", "localBytes": 0}}}}"#,
    );
    let tuned = tuned.cache.unwrap();
    assert_eq!((tuned.pool_size, tuned.timeout.as_millis(), tuned.memory_bytes), (7, 20, 0));
    let cluster = config(
        r#"{"cache": {"impl": "valkey", "options": {"config": "h:1", "options": {"cluster": true}}}}"#,
    );
    let servers = vec!["h:1".to_owned()];
    assert_eq!(cluster.cache.unwrap().backend, Backend::Redis { servers, is_cluster: true });
}

#[test]
fn an_unusable_cache_is_an_error() {
    assert_eq!(
        told(r#"{"cache": {"impl": "redis", "options": []}}"#),
        [
            "bad-config config.json:1:2: Unable to attach to Cache: {\"impl\":\"redis\",\"message\":\"`options` must name a server, `host:port`\"}"
        ]
    );
    for cache in [
        r#"{"impl": "./mine", "options": {}}"#,
        r#""memory""#,
        r#"{"impl": "memcached"}"#,
        r#"{"impl": "memcached", "options": [1]}"#,
        r#"{"impl": "memcached", "options": "h"}"#,
        r#"{"impl": "memcached", "options": "h:99999"}"#,
        r#"{"impl": "redis", "options": {"config": {"h:1": 1}}}"#,
        r#"{"impl": "memory", "timeoutMs": "soon"}"#,
        r#"{"impl": "memory", "options": {"maxValue": -1}}"#,
    ] {
        assert!(!told(&format!(r#"{{"cache": {cache}}}"#)).is_empty(), "{cache}");
    }
}

#[test]
fn the_settings_that_hold_are_shown_with_their_origin() {
    let text = "{\n  \"timeout\": 5,\n  \"api\": {\"host\": \"h\", \"key\": \"abcdef\"},\n  \
                \"cache\": {\"impl\": \"redis\", \"servers\": \"redis://u:pw@h:1\"}}";
    let flag = Flag { flag: "--logs", setting: "logs", value: Value::from("var") };
    let command_line = CommandLine { is_dev: true, flags: vec![flag], ..CommandLine::default() };
    let source = Source::parse(text, Path::new("c.json")).0;
    let (_, effective, problems) = Reading::of(source, &command_line).finish();
    assert_eq!(problems, []);
    let shown = |name: &str| {
        let found = effective.iter().find(|setting| setting.name == name).unwrap();
        format!("{} {}", json::to_string(&found.value), found.origin)
    };
    assert_eq!(shown("timeout"), "5 c.json:2:3");
    assert_eq!(shown("maxNestedRequests"), "50 default");
    assert_eq!(shown("maxDecodedLength"), "100000000 default");
    assert_eq!(shown("errors"), "\"full\" default");
    assert_eq!(shown("logs"), "\"var\" --logs");
    assert_eq!(shown("api"), "{\"host\":\"h\",\"key\":\"[redacted]\"} c.json:3:3");
    assert_eq!(shown("cache.servers"), "[\"redis://h:1\"] c.json:4:30");
}

/// Whether a value fits a schema, for the keywords that ours has; any other keyword fails the test.
fn fits(schema: &Value, value: &Value) -> bool {
    let opened = schema.open();
    let Value::Object(keywords) = &*opened else { panic!("a schema is an object") };
    keywords.iter().all(|(keyword, rule)| match &**keyword {
        "$schema" | "title" | "description" => rule.as_str().is_some(),
        "anyOf" => rule.elements().unwrap().iter().any(|schema| fits(schema, value)),
        "enum" => rule.elements().unwrap().contains(value),
        "type" => match (rule.elements(), rule.as_str()) {
            (Some(types), _) => types.iter().any(|name| is_of_type(name.as_str().unwrap(), value)),
            (None, name) => is_of_type(name.unwrap(), value),
        },
        "items" => {
            value.elements().is_none_or(|elements| elements.iter().all(|one| fits(rule, one)))
        }
        "pattern" => {
            let pattern = regex_lite::Regex::new(rule.as_str().unwrap()).unwrap();
            value.as_str().is_none_or(|text| pattern.is_match(text))
        }
        "minimum" | "maximum" => {
            let bound = slot::whole_number(rule).unwrap();
            let Value::Number(number) = value else { return true };
            let number = i128::from(number.as_i64().unwrap());
            if &**keyword == "minimum" { number >= bound.into() } else { number <= bound.into() }
        }
        "properties" => members(value).iter().all(|(name, value)| {
            let schema = rule.member(name);
            schema.is_absent() || fits(&schema, value)
        }),
        "additionalProperties" => {
            let declared = schema.member("properties");
            let others = members(value);
            let mut others = others.iter().filter(|(name, _)| declared.member(name).is_absent());
            others.all(|(_, value)| *rule != Value::Bool(false) && fits(rule, value))
        }
        other => panic!("`{other}` is not understood here"),
    })
}

fn members(value: &Value) -> Object {
    match &*value.open() {
        Value::Object(object) => (**object).clone(),
        _ => Object::new(),
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.as_str().is_some(),
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" | "number" => matches!(value, Value::Number(_)),
        other => panic!("`{other}` is no type of JSON Schema"),
    }
}

/// Editors and the reader agree: the schema takes what is read without a problem, and no more.
#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema = json::parse_str(&schema()).unwrap();
    for text in [
        "{}",
        r#"{"shop": {"api": [1]}, "timeout": 5, "maxRequests": "7", "trace": "full", "jsonp": "true"}"#,
        r#"{"adhoc": true, "requestId": "x-id", "tls": {"caFile": "a", "insecureHosts": ["h"]}}"#,
        r#"{"adhoc": {"enabled": false, "config": "a"}, "requestId": {"header": "x", "trail": true}}"#,
        r#"{"proxy": {"*": {"host": "h", "port": "80"}, "x.test": {}}, "xml": {"coerce": "none"}}"#,
        r#"{"cache": {"impl": "redis", "options": {"config": ["h:1"], "options": {"poolSize": 3}}}}"#,
        r#"{"cache": {"impl": "memcached", "options": ["h:1"], "timeoutMs": 5}}"#,
        r#"{"timeout": 0}"#,
        r#"{"timeout": "soon"}"#,
        r#"{"jsonp": 1}"#,
        r#"{"trace": "all"}"#,
        r#"{"adhoc": {"enable": true}}"#,
        r#"{"adhoc": [1]}"#,
        r#"{"tls": {"caFile": ["a"]}}"#,
        r#"{"tls": 5}"#,
        r#"{"egress": {"allow": {}}}"#,
        r#"{"proxy": {"*": {"hots": "h"}}}"#,
        r#"{"proxy": {"*": 5}}"#,
        r#"{"cache": {"impl": "mine"}}"#,
        r#"{"cache": {"impl": "memory", "options": {"options": {"pool": 3}}}}"#,
        r#"{"cache": {"impl": "memory", "maxBytes": 0}}"#,
    ] {
        let is_read = told(text).is_empty();
        let value = json::parse_str(text).unwrap().into_tree();
        assert_eq!(fits(&schema, &value), is_read, "{text}: {:?}", told(text));
    }
    // Whatever a setting is, it may come from the environment or from a file.
    for text in [
        r#"{"timeout": "${T}", "trace": "${T:-full}", "jsonp": "${T}"}"#,
        r#"{"timeout": "file:/run/secrets/t", "trace": "file:t", "jsonp": "file:t"}"#,
    ] {
        assert!(fits(&schema, &json::parse_str(text).unwrap()), "{text}");
    }
    assert!(!fits(&schema, &json::parse_str(r#"{"timeout": "file:"}"#).unwrap()));
}

/// The page is written by `qlio config docs`.
#[test]
fn the_reference_page_is_what_the_table_gives() {
    let page = include_str!("../../../../docs/reference/settings.md");
    assert!(
        page == reference(),
        "docs/reference/settings.md is stale: qlio config docs >docs/reference/settings.md"
    );
}

/// The page is written by `qlio config docs --limits`.
#[test]
fn the_page_of_limits_is_what_the_table_gives() {
    let page = include_str!("../../../../docs/reference/limits.md");
    assert!(
        page == limits(),
        "docs/reference/limits.md is stale: qlio config docs --limits >docs/reference/limits.md"
    );
}

/// A number that bounds nothing is named here; every other one says what it is a limit of.
#[test]
fn every_number_is_a_limit_or_known_as_none() {
    let others = [
        "cache.localSeconds",
        "cache.retryMs",
        "cache.heartbeatMs",
        "wsPingInterval",
        "heavy.threads",
        "drainDelay",
    ];
    for setting in table::all() {
        let kind = setting.slot(&mut Draft::new(false)).kind();
        let is_number = matches!(kind, Kind::Number | Kind::Milliseconds);
        let is_limit = setting.limit.is_some();
        assert_eq!(
            is_limit,
            is_number && !others.contains(&setting.name),
            "`{}`: does its row in the table want `.limit(…)`?",
            setting.name
        );
    }
}

#[test]
fn names_of_settings_are_distinct_and_their_defaults_fit_their_bounds() {
    let mut names: Vec<String> = table::all().flat_map(Setting::spellings).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    for setting in table::all() {
        for is_dev in [false, true] {
            let mut draft = Draft::new(is_dev);
            let slot = setting.slot(&mut draft);
            let (kind, default) = (slot.kind(), slot.show());
            if !default.is_absent() {
                assert!(setting.is_within_bounds(&kind, &default), "{}", setting.name);
                assert!(slot.read(&default).is_some(), "{}", setting.name);
            }
        }
    }
}
