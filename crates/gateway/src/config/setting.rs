//! What a setting is, and the typed settings while they are read; which there are stands in
//! [`table`](super::table).

use qlio_engine::{
    Settings,
    cache::{Backend, CacheSettings},
    transport::TransportSettings,
};

use super::{
    front::FrontSettings,
    limits::Limit,
    slot::{CacheKind, Slot},
};

/// What the text of a setting must be.
#[derive(Clone, Copy)]
pub(super) struct TextRule {
    pub(super) accepts: fn(&str) -> bool,
    /// The rule in words.
    pub(super) wanted: &'static str,
}

/// One setting.
pub(super) struct Setting {
    /// Its dotted path in the settings file.
    pub(super) name: &'static str,
    /// Other paths that mean the same; `name` beats them, the first of them beats the others.
    pub(super) aliases: &'static [&'static str],
    /// A variable beside its own, under which others know the same setting.
    pub(super) standard: Option<&'static str>,
    /// The flags of `qlio serve` that set it.
    pub(super) flags: &'static [&'static str],
    /// Bounds of a number.
    pub(super) least: u64,
    pub(super) most: u64,
    /// It guards the server or what must not be seen: without it being understood, nothing starts.
    pub(super) is_guard: bool,
    /// It is what something was made with that lives as long as the process: another value needs a restart.
    pub(super) is_fixed: bool,
    /// A rule for its text.
    pub(super) rule: Option<TextRule>,
    /// Its default in words, where it is no value of its own.
    pub(super) default: Option<&'static str>,
    /// What makes it a limit, if it is one.
    pub(super) limit: Option<Limit>,
    /// Why one sets it, in Markdown.
    pub(super) about: &'static str,
    slot: fn(&mut Draft) -> &mut dyn Slot,
}

impl Setting {
    pub(super) const fn new(
        name: &'static str,
        slot: fn(&mut Draft) -> &mut dyn Slot,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            standard: None,
            flags: &[],
            least: 0,
            most: u64::MAX,
            is_guard: false,
            is_fixed: false,
            rule: None,
            default: None,
            limit: None,
            about,
            slot,
        }
    }

    pub(super) const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(super) const fn standard(self, variable: &'static str) -> Self {
        Self { standard: Some(variable), ..self }
    }

    pub(super) const fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    pub(super) const fn within(self, least: u64, most: u64) -> Self {
        Self { least, most, ..self }
    }

    pub(super) const fn matching(self, rule: TextRule) -> Self {
        Self { rule: Some(rule), ..self }
    }

    pub(super) const fn guarding(self) -> Self {
        Self { is_guard: true, ..self }
    }

    /// Another value needs a restart.
    pub(super) const fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }

    pub(super) const fn default_is(self, words: &'static str) -> Self {
        Self { default: Some(words), ..self }
    }

    /// A limit: of what, and what happens beyond it. It then stands on the page of limits, too.
    pub(super) const fn limit(self, of: &'static str, beyond: &'static str) -> Self {
        Self { limit: Some(Limit { of, beyond, closer: None }), ..self }
    }

    /// What says another limit for one route, table or statement.
    pub(super) const fn closer(self, closer: &'static str) -> Self {
        match self.limit {
            Some(limit) => Self { limit: Some(Limit { closer: Some(closer), ..limit }), ..self },
            None => panic!("only a limit can be said closer"),
        }
    }

    /// Its place in the settings that are being read.
    pub(super) fn slot<'d>(&self, draft: &'d mut Draft) -> &'d mut dyn Slot {
        (self.slot)(draft)
    }

    /// All paths at which it may stand, the strongest first.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        let names = std::iter::once(self.name).chain(self.aliases.iter().copied());
        // Where the members of `cache` may stand, too, as caches of the original had them.
        let inner = self.name.strip_prefix("cache.").into_iter().flat_map(|member| {
            ["cache.options.options.", "cache.options."].map(|outer| format!("{outer}{member}"))
        });
        inner.chain(names.map(str::to_owned))
    }
}

/// Settings while they are read: typed, with some that depend on others still apart.
pub(super) struct Draft {
    pub(super) settings: Settings,
    pub(super) transport: TransportSettings,
    pub(super) front: FrontSettings,
    pub(super) request_bytes_max: usize,
    pub(super) decoded_bytes_max: Option<usize>,
    pub(super) hook_memory_mib: usize,
    pub(super) secrets: Vec<String>,
    pub(super) cache: CacheDraft,
}

/// The settings of a cache, for all kinds of caches.
pub(super) struct CacheDraft {
    pub(super) kind: CacheKind,
    pub(super) servers: Vec<String>,
    pub(super) is_cluster: bool,
    /// What the kinds have in common.
    pub(super) common: CacheSettings,
    pub(super) memory_bytes: u64,
    pub(super) local_bytes: u64,
    pub(super) local_seconds: u64,
}

impl Draft {
    /// The defaults; in development mode clients may know and do more.
    pub(super) fn new(is_dev: bool) -> Self {
        let common = CacheSettings::new(Backend::Memory);
        let near = CacheSettings::new(Backend::Memcached { servers: Vec::new() });
        let settings = Settings::default();
        Self {
            hook_memory_mib: settings.hooks.memory_bytes >> 20,
            settings,
            transport: TransportSettings::default(),
            front: if is_dev { FrontSettings::development() } else { FrontSettings::default() },
            request_bytes_max: 10_000_000,
            decoded_bytes_max: None,
            secrets: Vec::new(),
            cache: CacheDraft {
                kind: CacheKind::None,
                servers: Vec::new(),
                is_cluster: false,
                memory_bytes: common.memory_bytes,
                local_bytes: near.memory_bytes,
                local_seconds: near.local_time.as_secs(),
                common,
            },
        }
    }
}
