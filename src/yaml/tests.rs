//! Tests of the whole module: reads headers and writes them back.

use super::*;

fn read(text: &str) -> Result<Vec<Item>, Problem> {
    let mut items = Vec::new();
    let result = each_item(text, &mut Anchors::default(), &mut |item, _| {
        items.push(item);
        Ok(())
    });
    match result {
        Ok(()) => Ok(items),
        Err(Stop::Problem(problem)) => Err(problem),
        Err(Stop::Caller(error)) => panic!("{error}"),
    }
}

fn items(text: &str) -> Vec<Item> {
    read(text).unwrap_or_else(|problem| panic!("{problem}: {text}"))
}

fn only(text: &str) -> Item {
    items(text).pop().unwrap()
}

fn problem(text: &str) -> (u64, String) {
    let problem = read(text).map(|items| panic!("{items:?}")).unwrap_err();
    (problem.offset, problem.what)
}

fn written(text: &str) -> String {
    let mut out = String::new();
    write(&only(text).node, 0, &mut out);
    out
}

/// The item's dedented original text, if it is portable.
fn own(text: &str) -> Option<String> {
    let item = only(text);
    let span = &text[item.span];
    let again = reread(span, item.form, &Anchors::default());
    assert!(again.is_err() || again.as_ref() == Ok(&item.node), "{span}");
    let Form::Block { column: indent } = item.form else { return None };
    if !item.portable {
        return None;
    }
    assert!(again.is_ok());
    let own = dedent(span, indent);
    assert_eq!(own.len(), dedented_len(span, indent));
    assert_eq!(only(&format!("- {}", own.replace('\n', "\n  "))).node, item.node, "{own}");
    Some(own)
}

#[test]
fn items_of_a_header() {
    let text = "\n- b: 1\n  a: [5,\n    3]\n# note\n-   name: x\n    list:\n    - 1\n\n   \n";
    let items = items(text);
    let spans: Vec<_> = items.iter().map(|item| &text[item.span.clone()]).collect();
    assert_eq!(spans, ["b: 1\n  a: [5,\n    3]\n# note\n", "name: x\n    list:\n    - 1\n"]);
    assert_eq!(
        items.iter().map(|item| (item.line, item.form, item.portable)).collect::<Vec<_>>(),
        [(2, Form::Block { column: 2 }, false), (6, Form::Block { column: 4 }, true)]
    );
    assert_eq!(dedent(spans[1], 4), "name: x\nlist:\n- 1\n");
    assert_eq!(items[0].node.get("a"), Some(&Node::seq([Node::int(5), Node::int(3)])));
    assert_eq!(items[0].node.get("b").and_then(Node::as_u64), Some(1));
}

#[test]
fn empty_headers() {
    for text in ["", "\n", "# nothing\n", "null", "~\n", "--- \n", "[]", "\n[]\n\n", "\u{FEFF}[]"] {
        assert!(items(text).is_empty(), "{text:?}");
    }
}

#[test]
fn not_a_list() {
    assert_eq!(problem("\na: 1\n"), (1, "is not a list".into()));
    assert_eq!(problem("text"), (0, "is not a list".into()));
    assert_eq!(problem("- 1\n---\n- 2\n"), (4, "a second document begins".into()));
    assert_eq!(problem("- a\n- \u{1}\n"), (6, "holds the control character U+0001".into()));
    assert_eq!(problem("- \"a\n").0, 5);
    assert_eq!(problem("\u{FEFF}- *a\n").0, 5);
}

#[test]
fn the_caller_can_stop() {
    let mut seen = 0;
    let result = each_item("- 1\n- 2\n", &mut Anchors::default(), &mut |_, _| {
        seen += 1;
        Err(crate::Error::NotFound)
    });
    assert!(matches!(result, Err(Stop::Caller(crate::Error::NotFound))));
    assert_eq!(seen, 1);
}

#[test]
fn panics_of_the_parser_are_problems() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_guarded() {
            hook(info)
        }
    }));
    assert_eq!(problem("- 1\n- [!a,b]\n").1, "text after this place is not YAML");
    assert!(!is_guarded());
}

#[test]
fn portable_texts() {
    for text in [
        "- a: text\n",
        "- a: 'yes'\n  b: \"017\"\n",
        "- a: -12\n  b: 1.5e+10\n  c: .inf\n",
        "- a: 2020-01-02\n  b:\n  c: null\n",
        "- a: 2020-01-02 03:04:05.678900\n",
        "- a: !!binary |\n    AP8Q\n",
        "- a: !!set\n    x: null\n",
        "- a: 3rd of them\n",
        "- a: \"folded\n    text\\\n    \\ here\"\n",
        "- a: word word\n    word\n",
        "- ? long\n  : 1\n",
        "- {a: 1}\n- a: {b: [c, d]}\n",
        "- name: group0/signal 1\n  url: https://x.y/z\n",
        "- a: Dürer\n",
        "- 7: x\n  true: y\n",
    ] {
        assert!(own(text).is_some(), "{text}");
    }
}

#[test]
fn texts_that_are_not_portable() {
    for text in [
        "- a: yes\n",
        "- a: 017\n",
        "- a: 0o17\n",
        "- a: 1e3\n",
        "- a: 1_000\n",
        "- a: 12:30:00\n",
        "- a: 0b1\n",
        "- a: +.inf\n",
        "- a: .5\n",
        "- a: 0x1F\n",
        "- a: -0\n",
        "- a: =\n",
        "- <<: {b: 1}\n",
        "- a: 1\n  a: 2\n",
        "- 1: x\n  true: y\n",
        "- [a]: 1\n",
        "- &x a: 1\n",
        "- a: &x 1\n",
        "- a: !!str 1\n",
        "- a: !!python/tuple [1]\n",
        "- a: !mine 1\n",
        "- a: |\n    text\n",
        "- a: 2020-01-02 03:04:05Z\n",
        "- a: \"x\ty\"\n",
        "- a: x\r\n",
        "- a: \"\u{85}\"\n",
        "- a: '\u{2028}'\n",
        "- a: '\u{FEFF}'\n",
        "- a: \"x\n y\"\n",
        "- a: \"x\n  --- y\"\n",
        "- a: [1,\n  2]\n",
        "- --- : 1\n",
        "- [1]\n",
        "- text\n",
        "[{a: 1}]",
        "- a: \"\\uD800\"\n",
    ] {
        assert_eq!(own(text), None, "{text}");
    }
}

#[test]
fn block_scalars_at_the_end_of_the_text() {
    for (text, expected) in [
        ("- |\n  a", "a"),
        ("- |\n  a\n", "a\n"),
        ("- |+\n  a", "a"),
        ("- >-\n  a", "a"),
        ("- >\n  a\n  b", "a b"),
    ] {
        assert_eq!(only(text).node.as_str(), Some(expected), "{text}");
    }
    assert_eq!(own("- a: !!binary |\n    AP8Q").as_deref(), Some("a: !!binary |\n  AP8Q\n"));
}

#[test]
fn aliases_cross_items() {
    let items =
        items("- a: &x {k: v}\n- a: *x\n- <<: [*x, {k: w, l: 1}]\n  m: 2\n- &y\n  <<: *x\n  k: mine\n- *y\n");
    assert!(Arc::ptr_eq(items[0].node.get_shared("a").unwrap(), items[1].node.get_shared("a").unwrap()));
    let merged = [("k", Node::text("v")), ("l", Node::int(1)), ("m", Node::int(2))];
    assert_eq!(*items[2].node, Node::map(merged));
    assert_eq!(*items[4].node, Node::map([("k", Node::text("mine"))]));
    assert_eq!(problem("- *x\n"), (2, "alias *x has no anchor before it".into()));
    assert_eq!(problem("- &x [*x]\n"), (6, "alias *x stands inside its own anchor".into()));
}

#[test]
fn alias_bombs_fail_fast() {
    let mut bomb = "- &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_string();
    for i in 1..30 {
        let names = vec![format!("*a{}", i - 1); 10].join(",");
        bomb.push_str(&format!("- &a{i} [{names}]\n"));
    }
    let (mut anchors, mut measure, mut lens) = (Anchors::default(), Measure::new(), Vec::new());
    let add = &mut |item: Item, anchors: &Anchors<'_>| {
        lens.push(measure.len(&item.node, anchors));
        Ok(())
    };
    each_item(&bomb, &mut anchors, add).unwrap();
    assert!(lens[0] == 40 && lens[1] == 600 && lens[29] == u64::MAX, "{lens:?}");
    let pairs: String = (0..20_000).map(|i| format!("k{i}: 1, ")).collect();
    let merges = format!("- &m {{{pairs}}}\n{}", "- {<<: *m}\n".repeat(1000));
    assert_eq!(problem(&merges).1, "more than 64 MiB of values are merged with <<");
}

#[test]
fn measured_is_what_is_written() {
    let text = "- &a {k: [1, {x: y}], l: &b 'it''s'}\n- p: *a\n  q: {r: [*a, *b]}\n  s: !!set {x, y}\n- [*a, *a]\n- *a\n";
    let (mut anchors, mut measure, mut count) = (Anchors::default(), Measure::new(), 0);
    let add = &mut |item: Item, anchors: &Anchors<'_>| {
        let mut written = String::new();
        write(&item.node, 0, &mut written);
        assert_eq!(measure.len(&item.node, anchors), written.len() as u64, "{written}");
        count += 1;
        Ok(())
    };
    each_item(text, &mut anchors, add).unwrap();
    assert_eq!(count, 4);
}

#[test]
fn depth_is_bounded() {
    let deep = |text: &str| problem(text).1 == "collections are nested more than 500 deep";
    for unit in ["[", "{a: ", "- ", "? ", "[\n"] {
        assert!(deep(&format!("- {}", unit.repeat(1_000_000))), "{unit}");
    }
    let chain: String = (1..1000).map(|i| format!("- &a{i} [*a{}]\n", i - 1)).collect();
    assert!(deep(&format!("- &a0 []\n{chain}")));
    assert!(deep(&format!("- {}{}", "[".repeat(501), "]".repeat(501))));
    let deepest = format!("- {}{}", "[".repeat(500), "]".repeat(500));
    let small_stack = std::thread::Builder::new().stack_size(1 << 20);
    let length = small_stack.spawn(move || written(&deepest).len()).unwrap().join().unwrap();
    assert!(length < 1100);
}

#[test]
fn too_many_directives() {
    assert!(problem(&"%TAG !a! tag:x\n".repeat(100_000)).1.contains("begin with '%'"));
}

#[test]
fn tags_are_dropped_not_run() {
    for (text, expected) in [
        ("!!python/tuple [1, 2]", "- 1\n- 2\n"),
        ("!!python/object/apply:os.system [echo]", "- echo\n"),
        ("!!python/name:os.system ''", "''\n"),
        ("!!python/object:a.B {c: 1}", "c: 1\n"),
        ("!!python/long '5'", "5\n"),
        ("!!python/none ''", "null\n"),
        ("!mine 5", "'5'\n"),
        ("!!python/bytes AP8Q", "!!binary \"AP8Q\"\n"),
        ("!!omap [a: 1, b: 2]", "- - a\n  - 1\n- - b\n  - 2\n"),
        ("! '5'", "5\n"),
        ("!!set {b, a}", "!!set\n? b\n? a\n"),
        ("!!set {}", "!!set {}\n"),
        ("!!int x", "x\n"),
        ("!!str 5", "'5'\n"),
        ("!!seq {a: 1}", "a: 1\n"),
    ] {
        assert_eq!(written(&format!("- {text}\n")), expected, "{text}");
    }
}

#[test]
fn written_text() {
    let text = "- text: it's\n  'yes': 'yes'\n  'y': [1, [2, 3], {a: b, c: []}]\n  n: {a: {}, s: !!set {x}}\n  f: [1.0, 1.0e+23, 1.0e-05, -.inf, .nan, -0.0, 0.0001]\n  \
        e: [\"\\t\\x1b\\N\\u2028\", \"\\U0001f98f\", ' x', 'a, b', '#', 'Dürer b.c/d', '2020-01-02']\n  2020-01-02: 0xFF\n";
    let expected = "text: 'it''s'\n'yes': 'yes'\n'y':\n- 1\n- - 2\n  - 3\n- a: b\n  c: []\n'n':\n  a: {}\n  s: !!set\n    ? x\nf:\n- 1.0\n- 1.0e+23\n- 1.0e-05\n- -.inf\n- .nan\n- -0.0\n\
        - 0.0001\ne:\n- \"\\t\\x1B\\x85\\u2028\"\n- '🦏'\n- ' x'\n- 'a, b'\n- '#'\n- Dürer b.c/d\n- '2020-01-02'\n2020-01-02: 255\n";
    assert_eq!(written(text), expected);
}

#[test]
fn odd_keys() {
    let long = "k".repeat(121);
    assert_eq!(written(&format!("- ? {long}\n  : [1]\n")), format!("? {long}\n: - 1\n"));
    assert_eq!(written("- ? [1, {a: b}]\n  : x\n  ? '[1, {a: b}]'\n  : z\n"), "'[1, {a: b}]': z\n");
    assert_eq!(written("- {1: a, true: b, 1.0: c}\n"), "1: c\n");
    assert_eq!(written("- {b: 1, a: 2, b: 3}\n"), "b: 3\na: 2\n");
    assert!(written(&format!("- {}a", "? ".repeat(450))).len() < 10_000);
}

#[test]
fn lone_surrogates_survive() {
    let text = r#"- ["\uD800x", "\ud83e\udd8f", '\uD800', \udfff]"#;
    let expected = "- \"\\uD800x\"\n- '🦏'\n- '\\uD800'\n- '\\udfff'\n";
    assert_eq!(written(text), expected);
    assert_eq!(only(text).node.as_seq().unwrap()[0].as_text().unwrap().as_bytes(), b"\xED\xA0\x80x");
}

#[test]
fn deeply_nested_values_are_written_in_one_line() {
    let text = format!("- {}{{x: [1, '{}']}}{}", "{a: ".repeat(60), "k".repeat(200), "}".repeat(60));
    let out = written(&text);
    assert_eq!(out.lines().count(), 33);
    assert_eq!(*only(&format!("- {}", out.replace('\n', "\n  "))).node, *only(&text).node);
}

#[test]
fn a_text_may_be_one_value() {
    assert_eq!(
        *value("a: [1, yes]\n").unwrap(),
        Node::map([("a", Node::seq([Node::int(1), Node::Bool(true)]))])
    );
    assert_eq!(*value("just words\n...\n").unwrap(), Node::text("just words"));
    assert_eq!(*value("- &x 1\n- *x\n").unwrap(), Node::seq([Node::int(1), Node::int(1)]));
    assert_eq!(*value("{\n\t\"a\": 1e3}").unwrap(), Node::map([("a", Node::Float(1000.0))]));
    assert_eq!(*value("").unwrap(), Node::Null);
    assert!(value("a: [1").is_err() && value("a\n--- b").is_err());
}
