//! The registry of all diagnostic codes, of this crate and of every crate above it.
//!
//! In: nothing. Out: one `pub const` per kind of problem, and [`ALL`] for reference pages and tests.
//! The ranges: 1xxx grammar, 2xxx names and planning, 3xxx catalog declarations and settings,
//! 4xxx codecs and templates, 5xxx upstream exchanges, 6xxx patches and functions, 7xxx limits and
//! deadlines, 9xxx own bugs. A number keeps its meaning for ever and is never used for another problem;
//! a code that nothing raises any more leaves, and its number stays free.

use super::Code;

/// Declares the constants and the list of all of them from one table.
macro_rules! registry {
    ($($number:literal $name:ident $slug:literal $title:literal;)*) => {
        $(
            #[doc = concat!("Q", $number, ": ", $title, ".")]
            pub const $name: Code = Code { number: $number, slug: $slug, title: $title };
        )*

        /// Every code, by number.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

registry! {
    // 1xxx: the grammar
    1001 UNEXPECTED_TOKEN "unexpected-token" "something else was expected here";
    1002 UNCLOSED_TEXT "unclosed-text" "a quoted text has no closing quote";
    1003 UNCLOSED_COMMENT "unclosed-comment" "a block comment has no end";
    1004 BAD_ESCAPE "bad-escape" "a text holds an escape that does not exist";
    1005 CONTROL_CHARACTER "control-character" "a text holds a raw control character or line end";
    1006 BAD_NUMBER "bad-number" "a number is written in a way that is not accepted";
    1007 MISPLACED_THROW "misplaced-throw" "`throw` outside of if, try and catch";
    1008 MISPLACED_RETURN "misplaced-return" "`return` inside braces";
    1009 TEXT_AFTER_RETURN "text-after-return" "something follows the `return`";
    1010 REPEATED_CLAUSE "repeated-clause" "a clause stands twice";
    1011 MISPLACED_CLAUSE "misplaced-clause" "a clause stands where it cannot";
    1012 NOT_A_VALUE "not-a-value" "a control statement stands where a value should";
    1013 DOTTED_VARIABLE "dotted-variable" "a variable name has a dot";
    1014 UNKNOWN_OPERATOR "unknown-operator" "the language has no such operator";
    1101 AMBIGUOUS_TEXT "ambiguous-text" "a quoted text stands where it could be a name";
    1102 UNNAMED_OUTPUT "unnamed-output" "a value needs a name and has none";
    1103 CONSTANT_KEY "constant-key" "rows are ordered by something that is no column";
    // 2xxx: names and planning
    2001 MISSING_SCRIPT "missing-script" "there is no statement at all";
    2002 UNRESOLVED_RETURN "unresolved-return" "`return` names a variable that does not exist";
    2003 UNKNOWN_TABLE "unknown-table" "no table of this name";
    2004 UNKNOWN_ROUTE "unknown-route" "no route of this path and method";
    2005 UNSUPPORTED_VERB "unsupported-verb" "the table does not declare this verb";
    2006 MIXED_ALIASES "mixed-aliases" "some columns have an alias and some have none";
    2008 MISSING_JOIN_CONDITION "missing-join-condition" "a join does not say which rows belong together";
    2009 UNPREFIXED_COLUMN "unprefixed-column" "a column of a join has no known prefix";
    2010 UNPREFIXED_ARGUMENT "unprefixed-argument" "an argument in a join has no prefix";
    2011 UNKNOWN_ARGUMENT_PREFIX "unknown-argument-prefix" "an argument in a join has an unknown prefix";
    2012 STAR_IN_JOIN "star-in-join" "`select *` in a join";
    2013 DUPLICATE_SYMBOL "duplicate-symbol" "a name is bound twice";
    2014 CIRCULAR_REFERENCE "circular-reference" "a statement needs itself";
    2015 UNRESOLVED_UDF "unresolved-udf" "a row function belongs to no module of the script";
    2016 OBJECT_WITH_COLUMNS "object-with-columns" "an inserted object stands together with columns or values";
    2017 MISSING_VALUES "missing-values" "an insert has columns and no values";
    2018 VALUE_COUNT "value-count" "an insert has not as many values as columns";
    2019 UNPAIRED_VALUES "unpaired-values" "an insert has several values and no columns";
    2020 UNKNOWN_METHOD "unknown-method" "the connector has no such method";
    2021 UNTHROWN_EXCEPTION "unthrown-exception" "a catch names what is never thrown";
    2022 DUPLICATE_VERB "duplicate-verb" "a table declares a verb twice";
    2024 UNKNOWN_REFERENCE "unknown-reference" "a reference names nothing that is known";
    2025 UNUSED_PARAMETER "unused-parameter" "a condition sets a parameter that the table does not use";
    2028 FORBIDDEN_MODULE "forbidden-module" "an ad-hoc script requires a module that it may not";
    2029 NOT_INSERTABLE "not-insertable" "a variable that is inserted into is no structure";
    2030 BAD_STATUS "bad-status" "a status is no whole number of its range";
    2031 HIDDEN_METADATA "hidden-metadata" "a client asks what the server does not tell of its catalog";
    2032 BAD_DEADLINE "bad-deadline" "a deadline is no whole number of its range";
    2033 BAD_LIMIT "bad-limit" "a limit of a route allows nothing";
    2034 FOREIGN_REQUEST "foreign-request" "a page or a name of somebody else is used to run scripts";
    2035 WRITE_BY_GET "write-by-get" "a script that writes is sent by a method that only reads";
    2041 TOO_MANY_CALLS "too-many-calls" "a script makes more requests than it says";
    2101 MISPLACED_FUNCTION "misplaced-function" "a function of a module stands inside an expression";
    2102 MISPLACED_STAR "misplaced-star" "`*` stands where it cannot";
    2103 BAD_PATTERN "bad-pattern" "a pattern of `like` or `matches` is malformed";
    2111 MISSING_ALIAS "missing-alias" "one of several sources has no alias";
    2112 REPEATED_ALIAS "repeated-alias" "two sources that are seen together have one alias";
    2113 DEAD_END "dead-end" "each of some sources needs a value of another one";
    2114 UNDECLARED_KEY "undeclared-key" "a table does not say which of its rows belong to which value";
    2115 CROSS_PRODUCT "cross-product" "nothing joins a source with the others";
    2116 MISPLACED_SELECT "misplaced-select" "a select stands where it cannot see the rows it needs";
    2117 HIDDEN_LIST "hidden-list" "a table has the name of a list in the rows";
    2121 MISPLACED_AGGREGATE "misplaced-aggregate" "an aggregate stands where no groups are";
    2122 UNGROUPED_COLUMN "ungrouped-column" "a column is neither grouped nor aggregated";
    2131 ARGUMENT_COUNT "argument-count" "a function is called with too few or too many arguments";
    2141 TESTED_PARAMETER "tested-parameter" "`=` stands where it tests rows and asks for nothing";
    2142 CAST_IN_NAME "cast-in-name" "the name of a column looks like a cast";
    2143 LONE_WORD "lone-word" "a word is compared with that names no variable";
    // 3xxx: catalog declarations and settings
    3001 DUPLICATE_TABLE "duplicate-table" "two files declare one table";
    3002 BROKEN_TABLE "broken-table" "a table file cannot be used";
    3003 MISSING_BODY_TEMPLATE "missing-body-template" "a body template file cannot be read";
    3004 MISSING_PATCH "missing-patch" "a patch file cannot be read";
    3005 BAD_URI_TEMPLATE "bad-uri-template" "a URI template is malformed";
    3006 DUPLICATE_ROUTE "duplicate-route" "two routes have one path and method";
    3007 BAD_ROUTE_TEMPLATE "bad-route-template" "a route's path is malformed";
    3008 ROUTE_WITHOUT_CLAUSE "route-without-clause" "a route file has no `via route`";
    3009 UNKNOWN_CONNECTOR "unknown-connector" "no connector of this name";
    3010 BAD_CONFIG "bad-config" "a setting has no usable value";
    3012 MISSING_SCHEMA "missing-schema" "a schema file cannot be read";
    3013 BAD_SCHEMA "bad-schema" "a schema file is malformed";
    3014 UNKNOWN_MESSAGE "unknown-message" "the schema has no message of this name";
    3015 UNKNOWN_FORMAT "unknown-format" "no data format of this name";
    3016 MISSING_AUTH_MODULE "missing-auth-module" "an authentication module cannot be read";
    3017 MISSING_TRANSFORMER "missing-transformer" "a transformer file cannot be read";
    3018 BAD_BODY_TEMPLATE "bad-body-template" "a body template is malformed";
    3019 FOREIGN_STATEMENT "foreign-statement" "a table file holds something else than tables";
    3020 UNREADABLE_FILE "unreadable-file" "a catalog file or directory cannot be read";
    3021 UNKNOWN_SETTING "unknown-setting" "no setting of this name";
    3022 MISSING_SECRET "missing-secret" "a setting names an environment variable that is not set";
    3024 BAD_RESULTSET "bad-resultset" "a `resultset` path is malformed";
    3025 BAD_PATCH "bad-patch" "a patch file cannot be loaded";
    3026 BAD_RPC "bad-rpc" "a gRPC method cannot be called";
    3027 BAD_COLUMNS "bad-columns" "`with columns` names what cannot be asked for";
    3028 BAD_PAGING "bad-paging" "`paginate by` says what cannot be done";
    3031 BAD_CONNECTOR "bad-connector" "a connector file cannot be used";
    3032 IDLE_CLAUSE "idle-clause" "a clause means nothing to the connector of its table";
    3033 BAD_TRANSFORMERS "bad-transformers" "a file of transformers names what cannot be used";
    3034 UNDESCRIBED_CONNECTOR "undescribed-connector" "a connector does not say what it can do";
    3035 UNFIT_CONNECTOR "unfit-connector" "a table wants of its connector what it cannot do";
    // 4xxx: codecs, templates and paths
    4001 BAD_JSON "bad-json" "a JSON text is malformed";
    4002 BAD_XML "bad-xml" "an XML text is malformed";
    4003 BAD_CSV "bad-csv" "a CSV text is malformed";
    4004 BAD_PROTOBUF "bad-protobuf" "a protobuf message is malformed";
    4005 BAD_MSGPACK "bad-msgpack" "a MessagePack value is malformed";
    4006 UNKNOWN_CHARSET "unknown-charset" "a charset that is not known";
    4007 NO_DECODER "no-decoder" "no decoder for this media type";
    4008 MISSING_TOKEN "missing-token" "a required token has no value";
    4009 MULTIPLE_FORKS "multiple-forks" "more than one token of a URI has several values";
    4010 OBJECT_PARAM "object-param" "a URI token has an object as its value";
    4011 PATH_EXPRESSION "path-expression" "a path or its expression cannot be evaluated";
    4012 BAD_FORM "bad-form" "a form body is malformed";
    4013 BAD_MULTIPART "bad-multipart" "a multipart body is malformed";
    4014 UNENCODABLE "unencodable" "a value cannot be written in the requested format";
    4015 BAD_TEXT "bad-text" "bytes are not text of their charset";
    4016 BAD_URI "bad-uri" "an expanded template is no usable URI";
    4017 BAD_HEADER "bad-header" "a header name or value holds what it must not";
    4018 BAD_CBOR "bad-cbor" "a CBOR value is malformed";
    4019 DOT_SEGMENT "dot-segment" "a value makes a dot segment of the path of a URI";
    4020 MISSING_ARGUMENT "missing-argument" "a required argument of a connector has no value";
    4021 UNKNOWN_ARGUMENT "unknown-argument" "a connector has no parameter of this name";
    4101 WRONG_OPERAND "wrong-operand" "a value is not of the kind that an operator needs";
    4102 BAD_COUNT "bad-count" "`limit` or `offset` has no whole number";
    4111 SEVERAL_ROWS "several-rows" "a select that is one value gives several rows";
    // 5xxx: upstream exchanges
    5001 UPSTREAM_STATUS "upstream-status" "the upstream answered with a failure";
    5002 CONNECT_FAILED "connect-failed" "no connection to the upstream";
    5003 UPSTREAM_TIMEOUT "upstream-timeout" "the upstream stayed silent too long";
    5004 TOO_MANY_REDIRECTS "too-many-redirects" "the upstream redirects too often";
    5005 BAD_REDIRECT "bad-redirect" "the upstream redirects to something unusable";
    5006 TRUNCATED_RESPONSE "truncated-response" "the upstream's answer ended early";
    5007 UPSTREAM_TOO_LARGE "upstream-too-large" "the upstream's answer is longer than allowed";
    5008 CONTENT_CODING "content-coding" "the upstream's content coding is unknown or broken";
    5009 EGRESS_DENIED "egress-denied" "the egress rules forbid this upstream";
    5010 BACK_OFF "back-off" "the upstream failed repeatedly and is left alone for now";
    5011 NAME_RESOLUTION "name-resolution" "the upstream's host name cannot be resolved";
    5012 TLS_FAILED "tls-failed" "no trusted TLS connection to the upstream";
    5013 BAD_RESPONSE "bad-response" "the upstream does not speak the protocol";
    5014 CONNECTION_LOST "connection-lost" "the connection broke during the exchange";
    5015 OVERLOAD "overload" "too many requests wait for this upstream";
    5016 TOKEN_REFUSED "token-refused" "the token endpoint gave no access token";
    5017 BUSY "busy" "too many large bodies and long scripts wait to be worked on";
    5018 BAD_PAGE "bad-page" "a page does not say where the next one is";
    5019 REPEATED_PAGE "repeated-page" "a page leads to one that was there before";
    // 6xxx: patches and functions
    6001 UDF_NOT_FOUND "udf-not-found" "the module has no such function";
    6002 UDF_FAILED "udf-failed" "a function of the script threw";
    6003 HOOK_FAILED "hook-failed" "a hook of a patch threw";
    6004 HOOK_TIME "hook-time" "a hook ran too long";
    6005 HOOK_MEMORY "hook-memory" "a hook used too much memory";
    6006 MODULE_NOT_FOUND "module-not-found" "a module cannot be found";
    6007 AUTH_DENIED "auth-denied" "the authentication module refused the request";
    6008 MODULE_FAILED "module-failed" "a module threw while it was loaded";
    6009 PARAM_REJECTED "param-rejected" "the patch refused a parameter";
    6010 UDF_TIME "udf-time" "a function ran too long or never answered";
    6011 UDF_MEMORY "udf-memory" "a function used too much memory";
    6012 CONNECTOR_FAILED "connector-failed" "a connector could not do what it was asked";
    6013 CONNECTOR_TIME "connector-time" "a connector ran too long or never answered";
    6014 CONNECTOR_MEMORY "connector-memory" "a connector used too much memory";
    6015 CONNECTOR_ANSWER "connector-answer" "a connector answered with something that is no result";
    // 7xxx: limits and deadlines
    7001 MAX_NESTED_REQUESTS "max-nested-requests" "a statement asks for more requests than allowed";
    7003 REQUEST_TOO_LARGE "request-too-large" "a request is larger than allowed";
    7004 DEADLINE "deadline" "the deadline passed";
    7005 SCRIPT_TOO_LARGE "script-too-large" "a script is longer than allowed";
    7006 NESTING_TOO_DEEP "nesting-too-deep" "something nests deeper than allowed";
    7007 TOO_MANY_STATEMENTS "too-many-statements" "a script has more statements than allowed";
    7008 TOO_MANY_DIAGNOSTICS "too-many-diagnostics" "more problems were found than are reported";
    7009 CONDITION_TOO_LONG "condition-too-long" "a condition has more operators than allowed";
    7010 TOO_MANY_ROWS "too-many-rows" "a local result has more rows than allowed";
    7014 TOO_MANY_PARTS "too-many-parts" "a multipart body has more parts than allowed";
    7016 RUN_LIMIT "run-limit" "a run asks for more than it may use";
    7017 TOO_MANY_PAGES "too-many-pages" "a table has more pages than a statement may ask for";
    7020 TOO_MANY_HOPS "too-many-hops" "a request has passed more servers of this kind than allowed";
    7021 UPSTREAM_MEMORY "upstream-memory" "the answers of upstreams take all memory that they may";
    // 9xxx: own bugs
    9001 INTERNAL "internal" "a bug of ours";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_and_slugs_are_unique_and_in_order() {
        assert!(ALL.is_sorted_by(|a, b| a.number < b.number));
        let slugs: HashSet<_> = ALL.iter().map(|code| code.slug).collect();
        assert_eq!(slugs.len(), ALL.len());
    }

    #[test]
    fn slugs_are_lower_case_words_with_hyphens() {
        for code in ALL {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(code.slug.chars().all(is_plain), "{code}");
            assert!(!code.title.is_empty() && !code.title.ends_with('.'), "{code}");
        }
    }

    #[test]
    fn every_number_lies_in_a_known_range() {
        for code in ALL {
            assert!(matches!(code.number / 1000, 1..=7 | 9), "{code}");
        }
    }
}
