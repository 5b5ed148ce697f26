//! What formatted scripts look like.

use qlio_syntax::format::format_text;

#[track_caller]
fn format(text: &str) -> String {
    format_text(text).expect("well-formed")
}

#[test]
fn long_statements_have_a_line_per_clause() {
    let text = "r = select p.name as who, q.sku as what from people as p, orders as q where p.id = q.by and p.name = 'Ada' and q.sku in ('x','y') limit 20 timeout 500 || select * from other || \"none\"\nreturn {'first':\"{r[0]}\",'all':\"{r}\",'more':[1,2,3],'text':'a rather long text that fills the line'} || 5 via route '/x/{id}' using method get";
    insta::assert_snapshot!(format(text), @r#"
    r = select p.name as who, q.sku as what
      from people as p, orders as q
      where p.id = q.by and p.name = 'Ada' and q.sku in ('x', 'y')
      limit 20
      timeout 500
      || select * from other
      || "none"
    return {
      "first": "{r[0]}",
      "all": "{r}",
      "more": [1, 2, 3],
      "text": "a rather long text that fills the line"
    }
      || 5
      via route '/x/{id}'
      using method get
    "#);
}

#[test]
fn tables_have_a_line_per_verb_and_clause() {
    let text = "create table a.b on select get from 'http://h/x?q={q}' resultset 'r' using headers 'A-B'='{k}', c=d on delete delete 'u' create table short on select get from 'u' expires 5";
    insta::assert_snapshot!(format(text), @r#"
    create table a.b
      on select get from "http://h/x?q={q}"
        using headers 'A-B' = "{k}", c = d
        resultset 'r'
      on delete delete "u"
    create table short on select get from "u" expires 5
    "#);
}

#[test]
fn blocks_are_indented() {
    let text = "if(!(a||b)&&c.d){throw(x)}else if(e){}else{f=1}try{g=1}catch(h){i=2}finally{j=3}";
    insta::assert_snapshot!(format(text), @r"
    if (!(a || b) && c.d) {
      throw (x)
    } else if (e) {} else {
      f = 1
    }
    try {
      g = 1
    } catch (h) {
      i = 2
    } finally {
      j = 3
    }
    ");
}

#[test]
fn comments_stay_where_they_are() {
    let text = "-- head\n\n\n\na = 1 -- why\n/* docs\n   of b */\nb = select x, -- first\n y from t /* source */ where -- cond\n z = 1;\nif (a) { -- in\n c = 2\n -- end\n} -- after\n\n-- tail";
    insta::assert_snapshot!(format(text), @r"
    -- head

    a = 1 -- why
    /* docs
       of b */
    b = select x, -- first
      y
      from t /* source */ -- cond
      where z = 1
    if (a) {
      -- in
      c = 2
      -- end
    } -- after

    -- tail
    ");
}

#[test]
fn comments_inside_keywords_do_not_move_to_the_next_statement() {
    for text in [
        "create table t on select get from 'u' expires 5 no /* a */ retry b = 1",
        "show /* a */ tables b = 1",
        "show -- a\n tables b = 1",
        "return 1 via route '/x' with /* a */ optional params using method get",
    ] {
        let once = format(text);
        let before_next = once.find("b = 1").unwrap_or(once.len());
        let last_word = ["retry", "tables", "get"]
            .iter()
            .filter_map(|word| once[..before_next].rfind(word))
            .max();
        assert!(once.find(" a").is_some_and(|comment| Some(comment) < last_word), "{once}");
        assert_eq!(format(&once), once);
    }
}

#[test]
fn a_text_with_errors_is_not_touched() {
    assert_eq!(format_text("a = }").expect_err("broken").len(), 1);
}

#[test]
fn statuses_stand_behind_the_method_and_at_the_end_of_a_verb() {
    let text = "create table t on select get from 'u' pass status 404,409 no retry return 1 via route '/x' using method post using deadline 5000 using limits rows=10,requests = 5 using headers a=b using status \"{s.code}\"";
    insta::assert_snapshot!(format(text), @r#"
    create table t
      on select get from "u"
        no retry
        pass status 404, 409
    return 1
      via route '/x'
      using method post
      using status "{s.code}"
      using headers a = b
      using deadline 5000
      using limits rows = 10, requests = 5
    "#);
    assert_eq!(
        format("return 1 via route '/x' using method get using status 0204"),
        "return 1 via route '/x' using method get using status 204\n"
    );
}
