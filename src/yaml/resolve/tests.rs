use super::*;

fn int(digits: &str) -> Node {
    Node::Int(digits.into())
}

#[test]
fn plain_scalars_mean_what_pyyaml_says() {
    for (value, expected) in [
        ("", Node::Null),
        ("~", Node::Null),
        ("null", Node::Null),
        ("NULL", Node::Null),
        ("nULL", Node::text("nULL")),
        ("yes", Node::Bool(true)),
        ("Off", Node::Bool(false)),
        ("oN", Node::text("oN")),
        ("y", Node::text("y")),
        ("017", int("15")),
        ("0o17", Node::text("0o17")),
        ("08", Node::text("08")),
        ("0x1F", int("31")),
        ("-0b11", int("-3")),
        ("1_000", int("1000")),
        ("+7", int("7")),
        ("-0", int("0")),
        ("0_", int("0")),
        ("0x_", Node::text("0x_")),
        ("12:30:00", int("45000")),
        ("1:60", Node::text("1:60")),
        ("0:10", Node::text("0:10")),
        ("1e3", Node::text("1e3")),
        ("1.0e3", Node::text("1.0e3")),
        ("1.0e+3", Node::Float(1000.0)),
        ("1.", Node::Float(1.0)),
        (".5", Node::Float(0.5)),
        ("-.5", Node::text("-.5")),
        ("1:30.5", Node::Float(90.5)),
        ("-.INF", Node::Float(f64::NEG_INFINITY)),
        ("1_0.0_1", Node::Float(10.01)),
        ("=", Node::text("=")),
        ("-", Node::text("-")),
        (".", Node::text(".")),
        ("._1", Node::text("._1")),
        ("0x10000000000000000", int("18446744073709551616")),
    ] {
        assert_eq!(plain(value), expected, "{value}");
    }
}

#[test]
fn huge_numbers_stay_exact() {
    assert_eq!(tagged("int", "0b1_000"), int("8"));
    assert_eq!(plain(&format!("0{}", "7".repeat(601))), int(&format!("0x7{}", "f".repeat(450))));
    assert_eq!(plain(&format!("0x{}", "f".repeat(601))), int(&format!("0x{}", "f".repeat(601))));
    assert_eq!(plain(&"9".repeat(5000)), int(&"9".repeat(5000)));
    assert_eq!(plain("1:00:00:00:00:00:00:00:00:00:00:00:00:00"), int("130606940160000000000000"));
}

#[test]
fn dates() {
    let time = |text: &str| Node::Timestamp(text.into());
    for (value, expected) in [
        ("2020-01-02", time("2020-01-02")),
        ("2020-1-2", Node::text("2020-1-2")),
        ("2020-02-30", Node::text("2020-02-30")),
        ("2020-1-2 3:04:05", time("2020-01-02 03:04:05")),
        ("2020-01-02t03:04:05.5 Z", time("2020-01-02 03:04:05.500000+00:00")),
        ("2020-01-02 03:04:05.1234567-5:30", time("2020-01-02 03:04:05.123456-05:30")),
        ("2020-01-02 03:04:05.", time("2020-01-02 03:04:05")),
        ("2020-01-02 24:04:05", Node::text("2020-01-02 24:04:05")),
        ("2020-01-02 03:04", Node::text("2020-01-02 03:04")),
        ("0000-01-01", Node::text("0000-01-01")),
    ] {
        assert_eq!(plain(value), expected, "{value}");
    }
    assert_eq!(tagged("timestamp", "2020-1-2"), time("2020-01-02"));
}

#[test]
fn explicit_tags() {
    assert_eq!(short_tag("tag:yaml.org,2002:python/long"), "int");
    assert_eq!(short_tag("!mine"), "");
    assert_eq!(short_tag("!"), "!");
    assert_eq!(tagged("!", "2"), int("2"));
    assert_eq!(tagged("null", "x"), Node::Null);
    assert_eq!(tagged("int", "x"), Node::text("x"));
    assert_eq!(tagged("float", "1e3"), Node::Float(1000.0));
    assert_eq!(tagged("bool", "YES"), Node::Bool(true));
    assert_eq!(tagged("binary", "AP8Q\n"), Node::Binary([0, 255, 16].into()));
    assert_eq!(tagged("binary", "AP 8=\n"), Node::Binary([0, 255].into()));
    assert_eq!(tagged("binary", "AP8"), Node::text("AP8"));
    assert_eq!(tagged("python/name:os.system", ""), Node::text(""));
}
