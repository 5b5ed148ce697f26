//! Random syntax trees, limited to what the grammar can express. All spans are empty.

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};
use qlio_syntax::{ast::*, source::Span};

mod expression;

const SPAN: Span = Span::new(0, 0);

fn word() -> impl Strategy<Value = String> {
    // Keywords are names, too; those at the start of statements need care (see `name`).
    prop_oneof![
        4 => "[a-z$:_][a-zA-Z0-9_:]{0,5}",
        1 => select(vec!["limit", "from", "where", "as", "on", "using", "in", "straße", "日本"]).prop_map(str::to_owned),
    ]
    .prop_filter("statement words and literals have a meaning of their own", |word| {
        const TAKEN: &[&str] = &[
            "select", "insert", "update", "delete", "create", "show", "describe", "desc", "return",
            "if", "try", "throw", "catch", "else", "finally", "true", "false", "null",
        ];
        !TAKEN.contains(&word.as_str())
    })
}

fn ident() -> impl Strategy<Value = Ident> {
    word().prop_map(|text| Ident { text, span: SPAN })
}

fn name() -> impl Strategy<Value = Name> {
    vec(word(), 1..3).prop_map(|words| Name { text: words.join("."), span: SPAN })
}

/// Text that one of the two quotes can hold.
fn raw_string() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z {}./\"\\\\é\n]{0,8}", "[a-z {}./'\\\\é]{0,8}"]
}

fn raw() -> impl Strategy<Value = RawText> {
    raw_string().prop_map(|text| RawText { text, span: SPAN })
}

fn number() -> impl Strategy<Value = String> {
    select(vec!["0", "-1", "2.50", "1e9", "-0.5E-3", "9223372036854775807"]).prop_map(str::to_owned)
}

fn count() -> impl Strategy<Value = Count> {
    any::<u64>().prop_map(|value| Count { value, span: SPAN })
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(JsonKind::Null),
        any::<bool>().prop_map(JsonKind::Bool),
        number().prop_map(JsonKind::Number),
        any::<String>().prop_map(JsonKind::String),
    ]
    .prop_map(|kind| Json { kind, span: SPAN });
    leaf.prop_recursive(3, 12, 4, |inner| {
        let member = (any::<String>(), inner.clone()).prop_map(|(key, value)| Member {
            key,
            key_span: SPAN,
            value,
        });
        let object = vec(member, 0..4).prop_map(|mut members| {
            let mut seen = std::collections::HashSet::new();
            members.retain(|member: &Member| seen.insert(member.key.clone()));
            JsonKind::Object(members)
        });
        prop_oneof![vec(inner, 0..4).prop_map(JsonKind::Array), object]
            .prop_map(|kind| Json { kind, span: SPAN })
    })
}

fn step() -> impl Strategy<Value = Segment> {
    prop_oneof![
        word().prop_map(|name| Segment::Member { name, is_quoted: false }),
        raw_string().prop_map(|name| Segment::Member { name, is_quoted: true }),
        word().prop_map(Segment::Descendant),
        any::<u32>().prop_map(|index| Segment::Index(index.into())),
        Just(Segment::Wildcard),
        (option::of(any::<i64>()), option::of(any::<i64>()), option::of(1..9_i64))
            .prop_map(|(start, end, step)| Segment::Slice { start, end, step }),
        any::<String>().prop_map(Segment::Filter),
        any::<String>().prop_map(Segment::Computed),
    ]
}

fn path_from(is_quoted: bool) -> impl Strategy<Value = Path> {
    let first = if is_quoted {
        raw_string().prop_map(|name| Segment::Member { name, is_quoted: true }).boxed()
    } else {
        word().prop_map(|name| Segment::Member { name, is_quoted: false }).boxed()
    };
    (first, vec(step(), 0..3)).prop_map(|(first, mut segments)| {
        segments.insert(0, first);
        Path { segments, span: SPAN }
    })
}

fn path() -> impl Strategy<Value = Path> {
    prop_oneof![3 => path_from(false), 1 => path_from(true)]
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        raw_string().prop_map(OperandKind::Text),
        number().prop_map(OperandKind::Number),
        any::<bool>().prop_map(OperandKind::Bool),
        Just(OperandKind::Null),
        path_from(false).prop_map(OperandKind::Path),
    ]
    .prop_map(|kind| Operand { kind, span: SPAN })
}

fn call() -> impl Strategy<Value = Call> {
    let arg = prop_oneof![json().prop_map(Arg::Json), path_from(false).prop_map(Arg::Path)];
    (name(), vec(arg, 0..3)).prop_map(|(callee, args)| Call { callee, args, span: SPAN })
}

fn source() -> impl Strategy<Value = Source> {
    (name(), option::of(name())).prop_map(|(name, alias)| Source::named(name, alias, SPAN))
}

fn columns() -> impl Strategy<Value = Columns> {
    let value = prop_oneof![3 => path().prop_map(ColumnValue::Path), 1 => call().prop_map(ColumnValue::Call)];
    let column =
        (value, option::of(name())).prop_map(|(value, alias)| Column { value, alias, span: SPAN });
    prop_oneof![Just(Columns::Star(SPAN)), vec(column, 1..4).prop_map(Columns::List)]
}

fn delays() -> impl Strategy<Value = Delays> {
    let delay = || option::of(count());
    (delay(), delay(), delay(), delay()).prop_map(|(timeout, min_delay, max_delay, deadline)| {
        Delays { timeout, min_delay, max_delay, deadline }
    })
}

fn simple_condition() -> BoxedStrategy<Condition> {
    prop_oneof![
        (path(), operand(), any::<bool>()).prop_map(|(path, operand, is_in)| Condition::Equals {
            path,
            operand,
            is_in,
            span: SPAN
        }),
        (path(), vec(operand(), 1..4)).prop_map(|(path, items)| Condition::InList {
            path,
            items,
            span: SPAN
        }),
        call().prop_map(Condition::Call),
    ]
    .boxed()
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        2 => count().prop_map(Bound::Count),
        1 => Just(Bound::Token { text: "=n".to_owned(), span: SPAN }),
    ]
}

fn select_with(condition: BoxedStrategy<Condition>) -> impl Strategy<Value = Select> {
    (
        columns(),
        vec(source(), 1..3),
        vec(condition, 0..3),
        option::of(count()),
        option::of(count()),
        delays(),
    )
        .prop_map(|(columns, sources, conditions, limit, offset, delays)| Select {
            is_distinct: false,
            is_value: false,
            columns,
            sources,
            conditions,
            grouping: None,
            having: None,
            unions: Vec::new(),
            order: Vec::new(),
            limit: limit.map(Bound::Count),
            offset: offset.map(Bound::Count),
            delays,
            span: SPAN,
        })
}

fn group_keys() -> impl Strategy<Value = GroupKeys> {
    let key = expression::sort_key(false).prop_map(|key| key.value);
    prop_oneof![
        1 => Just(GroupKeys::All(SPAN)),
        3 => vec(key, 1..3).prop_map(GroupKeys::List),
    ]
}

/// A script of one select that computes, tests, groups and orders.
pub(crate) fn computing() -> impl Strategy<Value = Script> {
    let column = |alias: Option<Name>| {
        move |value| Column { value: ColumnValue::Expression(value), alias, span: SPAN }
    };
    let computed = (expression::column(), option::of(name()))
        .prop_map(move |(value, alias)| column(alias)(value));
    let output = prop_oneof![
        3 => vec(computed, 1..3).prop_map(|columns| (Columns::List(columns), false, true)),
        1 => expression::column()
            .prop_map(move |value| (Columns::List(vec![column(None)(value)]), true, true)),
        1 => columns().prop_map(|columns| (columns, false, false)),
    ];
    let test = prop_oneof![
        1 => simple_condition(),
        3 => expression::test(false, 1).prop_map(Condition::Test),
    ];
    let first = (output, any::<bool>(), vec(test, 0..3), vec(expression::sort_key(false), 0..3));
    let groups = option::of((group_keys(), option::of(expression::column())));
    let unions = vec((any::<bool>(), select_with(simple_condition())), 0..2);
    let bounds = (option::of(bound()), option::of(bound()));
    (first, groups, unions, bounds).prop_map(|(first, groups, unions, (limit, offset))| {
        let ((columns, is_value, is_new), is_distinct, conditions, order) = first;
        let (grouping, having) = groups
            .map_or((None, None), |(keys, having)| (Some(Grouping { keys, span: SPAN }), having));
        let core =
            |select| Select { limit: None, offset: None, delays: Delays::default(), ..select };
        let unions = unions
            .into_iter()
            .map(|(is_all, select)| Unioned { is_all, select: core(select) })
            .collect();
        let name = Name { text: "t".to_owned(), span: SPAN };
        let select = Select {
            // A column called `from` would be the clause.
            is_distinct: is_distinct && is_new,
            is_value,
            columns,
            sources: vec![Source::named(name, None, SPAN)],
            conditions,
            grouping,
            having,
            unions,
            order,
            limit,
            offset,
            delays: Delays::default(),
            span: SPAN,
        };
        let statement = Statement {
            docs: Vec::new(),
            target: None,
            alternatives: vec![Primary::Select(Box::new(select))],
            span: SPAN,
        };
        Script { items: vec![Item::Statement(statement)], ..Script::default() }
    })
}

fn condition() -> BoxedStrategy<Condition> {
    let inner = (path(), select_with(simple_condition())).prop_map(|(path, select)| {
        Condition::InSelect { path, select: Box::new(select), span: SPAN }
    });
    prop_oneof![4 => simple_condition(), 1 => inner].boxed()
}

fn insert() -> impl Strategy<Value = Insert> {
    (
        option::of(raw()),
        source(),
        option::of(columns()),
        option::of(vec(operand(), 1..4)),
        vec(raw(), 0..3),
        delays(),
    )
        .prop_map(|(object, target, columns, values, parts, delays)| Insert {
            object,
            target,
            columns,
            values,
            parts,
            delays,
            span: SPAN,
        })
}

fn pairs() -> impl Strategy<Value = Vec<NameValue>> {
    let key =
        prop_oneof![word().prop_map(|key| (key, false)), raw_string().prop_map(|key| (key, true))];
    let pair = (key, operand()).prop_map(|((text, is_quoted), value)| NameValue {
        name: RawText { text, span: SPAN },
        is_quoted,
        value,
    });
    vec(pair, 0..3)
}

fn column_parameters() -> impl Strategy<Value = Vec<ColumnParameter>> {
    let column = (path_from(true), select(ColumnTest::ALL.to_vec()), raw());
    vec(column.prop_map(|(path, test, parameter)| ColumnParameter { path, test, parameter }), 0..3)
}

fn paging() -> impl Strategy<Value = PagingClause> {
    let manner = prop_oneof![
        (raw(), option::of(count()))
            .prop_map(|(parameter, first)| PagingManner::Page { parameter, first }),
        raw().prop_map(|parameter| PagingManner::Offset { parameter }),
        (raw(), raw()).prop_map(|(parameter, path)| PagingManner::Cursor { parameter, path }),
        Just(PagingManner::Link),
    ];
    let size = option::of((raw(), count()));
    (manner, size, option::of(raw()), option::of(count())).prop_map(
        |(manner, size, total, pages_max)| PagingClause {
            manner,
            size,
            total,
            pages_max,
            span: SPAN,
        },
    )
}

fn options(
    names: &'static [&'static str],
    required: usize,
) -> impl Strategy<Value = Vec<FormatOption>> {
    (vec(raw_string(), names.len()), required..=names.len()).prop_map(move |(texts, length)| {
        let pairs = names.iter().zip(texts).take(length);
        pairs
            .map(|(name, text)| FormatOption {
                name: Ident { text: (*name).to_owned(), span: SPAN },
                value: RawText { text, span: SPAN },
            })
            .collect()
    })
}

fn format_clause(names: &'static [&'static str]) -> impl Strategy<Value = FormatClause> {
    (raw(), options(names, 0)).prop_map(|(format, options)| FormatClause {
        format,
        options,
        span: SPAN,
    })
}

fn verb(kind: VerbKind) -> impl Strategy<Value = Verb> {
    let plain = select(vec!["get", "post", "put", "delete", "patch"])
        .prop_map(|text| (Ident { text: text.to_owned(), span: SPAN }, false));
    let method = prop_oneof![plain, ident().prop_map(|method| (method, true))];
    let expect = vec(
        (ident(), any::<bool>()).prop_map(|(name, is_required)| Expected { name, is_required }),
        0..3,
    );
    let body = (raw(), raw(), option::of(raw()))
        .prop_map(|(template, media_type, foreach)| BodyTemplate { template, media_type, foreach });
    let oauth2 = options(&["client", "secret", "token", "scope"], 3)
        .prop_map(|options| Oauth2Clause { options, span: SPAN });
    let columns = column_parameters().boxed();
    let first = (method, raw(), pairs(), columns, pairs(), expect, pairs());
    let second = (
        option::of(raw()),
        option::of(body),
        option::of(raw()),
        option::of(raw()),
        option::of(count()),
    );
    let third = (
        option::of(format_clause(&["message", "from", "root", "error", "mapping", "names"])),
        option::of(format_clause(&["message", "from", "root"])),
        option::of(raw()),
        vec(raw(), 0..3),
        option::of(raw()),
        (any::<(bool, bool)>(), option::of(paging()).boxed()),
        option::of(oauth2),
        vec(count(), 0..3),
    );
    (first.boxed(), second.boxed(), third.boxed()).prop_map(move |(first, second, third)| {
        let ((method, is_do), uri, aliases, columns, headers, expect, defaults) = first;
        let (patch, body, auth, resultset, expires) = second;
        let (format, request_format, xml_coerce, xml_arrays, transformer, fourth, oauth2, passed) =
            third;
        let (flags, paging) = fourth;
        Verb {
            kind,
            method,
            is_do,
            uri,
            aliases,
            columns,
            headers,
            expect: if is_do { expect } else { Vec::new() },
            defaults,
            patch,
            body,
            auth,
            resultset,
            expires,
            format,
            request_format,
            xml_coerce,
            xml_arrays,
            transformer,
            is_paged_upstream: flags.0,
            paging,
            is_retry_off: flags.1,
            passed_statuses: passed,
            oauth2,
            span: SPAN,
        }
    })
}

fn create() -> impl Strategy<Value = Create> {
    let verbs = vec(prop_oneof![verb(VerbKind::Select), verb(VerbKind::Insert)], 0..3);
    (name(), option::of(ident()), verbs).prop_map(|(name, connector, verbs)| Create {
        name,
        connector,
        verbs,
        span: SPAN,
    })
}

fn primary(has_reference: bool) -> BoxedStrategy<Primary> {
    let method = || {
        select(vec!["get", "post", "put", "delete", "patch"])
            .prop_map(|text| Ident { text: text.to_owned(), span: SPAN })
    };
    let describe_route = (raw(), method()).prop_map(|(path, method)| {
        Primary::DescribeRoute(DescribeRoute { path, method, span: SPAN })
    });
    let update = (source(), raw(), vec(raw(), 0..3), delays()).prop_map(
        |(target, object, parts, delays)| {
            Primary::Update(Box::new(Update { target, object, parts, delays, span: SPAN }))
        },
    );
    let delete =
        (source(), vec(condition(), 0..3), delays()).prop_map(|(target, conditions, delays)| {
            Primary::Delete(Box::new(Delete { target, conditions, delays, span: SPAN }))
        });
    let stand_alone = prop_oneof![
        3 => select_with(condition()).prop_map(|node| Primary::Select(Box::new(node))),
        1 => insert().prop_map(|node| Primary::Insert(Box::new(node))),
        1 => update,
        1 => delete,
        1 => create().prop_map(|node| Primary::Create(Box::new(node))),
        1 => any::<bool>().prop_map(|is_routes| Primary::Show(Show { is_routes, span: SPAN })),
        1 => source().prop_map(|source| Primary::Describe(Describe { source, span: SPAN })),
        1 => describe_route,
        3 => json().prop_map(Primary::Json),
        1 => call().prop_map(Primary::Call),
    ];
    if has_reference {
        prop_oneof![13 => stand_alone, 1 => ident().prop_map(Primary::Reference)].boxed()
    } else {
        stand_alone.boxed()
    }
}

fn docs() -> impl Strategy<Value = Vec<Comment>> {
    let line = "([a-z*/-][a-z */-]{0,6})?".prop_map(|text| (text, false));
    let block = "([a-z*-][a-z -]{0,6}[a-z\n ])?".prop_map(|text| (text, true));
    let comment = prop_oneof![line, block];
    vec(comment.prop_map(|(text, is_block)| Comment { text, is_block, span: SPAN }), 0..2)
}

fn statement(docs: BoxedStrategy<Vec<Comment>>) -> impl Strategy<Value = Item> {
    let bound = (ident(), primary(true)).prop_map(|(target, first)| (Some(target), first));
    let bare = primary(false).prop_map(|first| (None, first));
    (docs, prop_oneof![bound, bare], vec(primary(true), 0..2)).prop_map(
        |(docs, (target, first), mut alternatives)| {
            alternatives.insert(0, first);
            Item::Statement(Statement { docs, target, alternatives, span: SPAN })
        },
    )
}

fn logic() -> impl Strategy<Value = Logic> {
    path_from(false).prop_map(Logic::Name).prop_recursive(4, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(l, r)| Logic::Or(Box::new(l), Box::new(r))),
            (inner.clone(), inner.clone()).prop_map(|(l, r)| Logic::And(Box::new(l), Box::new(r))),
            inner.prop_map(|inner| Logic::Not(Box::new(inner))),
        ]
    })
}

fn block_item() -> BoxedStrategy<Item> {
    let throw = ident().prop_map(|name| Item::Throw(Throw { docs: Vec::new(), name, span: SPAN }));
    let leaf = prop_oneof![3 => statement(Just(Vec::new()).boxed()), 1 => throw].boxed();
    leaf.prop_recursive(2, 4, 2, |inner| control(inner, Just(Vec::new()).boxed())).boxed()
}

fn control(inner: BoxedStrategy<Item>, docs: BoxedStrategy<Vec<Comment>>) -> BoxedStrategy<Item> {
    let catch = (logic(), vec(inner.clone(), 0..2)).prop_map(|(condition, body)| Catch {
        condition,
        body,
        span: SPAN,
    });
    let finally = vec(statement(Just(Vec::new()).boxed()), 1..2);
    let try_block = (docs.clone(), vec(inner.clone(), 1..3), vec(catch, 1..3), option::of(finally))
        .prop_map(|(docs, body, catches, finally)| {
            Item::Try(Try { docs, body, catches, finally, span: SPAN })
        });
    let if_block = (docs, logic(), vec(inner.clone(), 0..3), option::of(vec(inner, 0..2)))
        .prop_map(|(docs, condition, then, otherwise)| {
            Item::If(If { docs, condition, then, otherwise, span: SPAN })
        });
    prop_oneof![if_block, try_block].boxed()
}

fn result() -> impl Strategy<Value = Return> {
    let method = select(vec!["get", "post", "put", "delete", "patch"])
        .prop_map(|text| Ident { text: text.to_owned(), span: SPAN });
    let status =
        prop_oneof![count().prop_map(RouteStatus::Number), raw().prop_map(RouteStatus::Text),];
    let limits = subsequence(RunLimit::ALL.to_vec(), 0..4).prop_flat_map(|limits| {
        let each = limits
            .into_iter()
            .map(|limit| count().prop_map(move |most| RouteLimit { limit, most, span: SPAN }));
        each.collect::<Vec<_>>()
    });
    let tail = (option::of(status), pairs(), option::of(count()), limits);
    let route = (raw(), any::<bool>(), pairs(), method, tail).prop_map(
        |(path, has_optional_params, defaults, method, (status, headers, deadline, limits))| {
            RouteClause {
                path,
                has_optional_params,
                defaults,
                method,
                status,
                headers,
                deadline,
                limits,
                span: SPAN,
            }
        },
    );
    (docs(), vec(primary(true), 1..3), option::of(route), option::of(count())).prop_map(
        |(docs, alternatives, route, calls_max)| Return {
            docs,
            alternatives,
            route,
            calls_max,
            span: SPAN,
        },
    )
}

/// A script that can be written.
pub(crate) fn script() -> impl Strategy<Value = Script> {
    let item = prop_oneof![
        3 => statement(docs().boxed()),
        1 => control(block_item(), docs().boxed()),
    ];
    (vec(item, 0..4), option::of(result()), docs()).prop_map(|(items, result, trailing)| Script {
        items,
        result,
        trailing,
    })
}
