//! The methods a route can be bound to.

use std::fmt;

/// The method of a route clause (SRV-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `get`; also serves `HEAD`.
    Get,
    /// `post`.
    Post,
    /// `put`.
    Put,
    /// `delete`.
    Delete,
    /// `patch`.
    Patch,
}

impl Method {
    /// Every method, in the order `Allow` lists them.
    pub const ALL: [Self; 5] = [Self::Get, Self::Post, Self::Put, Self::Delete, Self::Patch];

    /// The method of that name in any case; `del` is `delete` (SRV-4).
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("del") {
            return Some(Self::Delete);
        }
        Self::ALL.into_iter().find(|method| name.eq_ignore_ascii_case(method.name()))
    }

    /// The method that answers a request with this HTTP method: `HEAD` is answered by `get`.
    pub fn of_request(method: &hyper::Method) -> Option<Self> {
        if method == hyper::Method::HEAD {
            return Some(Self::Get);
        }
        Self::ALL.into_iter().find(|candidate| candidate.upper_name() == method.as_str())
    }

    /// The name as route clauses and metadata write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Patch => "patch",
        }
    }

    /// The name as HTTP writes it.
    pub fn upper_name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Patch => "PATCH",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_accepted_in_any_case_and_del_is_delete() {
        assert_eq!(Method::from_name("GeT"), Some(Method::Get));
        assert_eq!(Method::from_name("del"), Some(Method::Delete));
        assert_eq!(Method::from_name("head"), None);
    }

    #[test]
    fn head_is_answered_by_get_and_request_methods_are_case_sensitive() {
        assert_eq!(Method::of_request(&hyper::Method::HEAD), Some(Method::Get));
        assert_eq!(Method::of_request(&hyper::Method::PATCH), Some(Method::Patch));
        assert_eq!(Method::of_request(&hyper::Method::TRACE), None);
        let lower = hyper::Method::from_bytes(b"get").expect("a token");
        assert_eq!(Method::of_request(&lower), None);
    }
}
