//! Recipes: what is made of fields comes back, and sorts as they do.

use proptest::prelude::*;

use super::super::fields::{fields_text, parse_fields};
use super::*;

fn fields(text: &str) -> Fields {
    parse_fields(text.as_bytes()).unwrap()
}

fn key(recipe: &str, text: &str) -> String {
    to_string_binary(&Recipe::parse(recipe).unwrap().encode(&fields(text)).unwrap())
}

#[test]
fn keys_have_the_bytes_of_their_parts() {
    for (recipe, given, wanted) in [
        ("host", "host=a.b", "a.b"),
        ("reverse_domain(host)", "host=www.cnn.com", "com.cnn.www"),
        ("reverse(n) '-' d", "n=123,d=x", "321-x"),
        ("user digits(n,4)", "user=bo,n=7", "bo\\x000007"),
        ("text(user, 4) u16(n)", "user=bo,n=258", "bo\\x00\\x00\\x01\\x02"),
        ("i32(n)", "n=-1", "\\x7F\\xFF\\xFF\\xFF"),
        ("time(t)", "t=1970-01-01T00:00:01Z", "\\x00\\x00\\x00\\x00\\x00\\x00\\x03\\xE8"),
        // Long.MAX_VALUE - 1000, as HBase's documents have it.
        ("user desc(t)", "user=u,t=1000", "u\\x00\\x7F\\xFF\\xFF\\xFF\\xFF\\xFF\\xFC\\x17"),
        ("desc(digits(n, 3))", "n=1", "998"),
        ("date(d)", "d=1970-01-02", "\\x80\\x00\\x00\\x01"),
        ("a ' \\x00' b", "a=x y,b=z", "x y \\x00z"),
    ] {
        assert_eq!(key(recipe, given), wanted, "{recipe}");
    }
    // Arrays.hashCode of "foo0003" is 8 * ... : the salt is that of the bytes behind it, the same every time.
    let salted = Recipe::parse("salt(4) row").unwrap();
    let spread: std::collections::BTreeSet<u8> =
        (0..40).map(|n| salted.encode(&fields(&format!("row=foo{n:04}"))).unwrap()[0]).collect();
    assert_eq!(spread.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(key("hash(2) row", "row=").len(), 2, "an empty field behind a digest");
}

#[test]
fn a_salt_is_that_of_javas_arrays() {
    // ((31 + 'a') * 31 + 'b') % 8, and of a byte that is negative in Java.
    assert_eq!(digest::salt(b"ab", 8), ((31 + 97) * 31 + 98) as u8 % 8);
    assert_eq!(digest::salt(&[0xFF], 7), 30 % 7);
    assert_eq!(digest::salt(b"", 8), 1);
}

#[test]
fn what_makes_no_sense_is_refused_with_the_way_out() {
    for (recipe, sentence) in [
        ("", "a recipe has a field"),
        ("'x'", "a recipe has a field"),
        ("a a", "twice"),
        ("a salt(3)", "stand in front"),
        ("salt(3) hash(2) a", "stand in front"),
        ("salt(300) a", "is no part"),
        ("salt(0) a", "is no part"),
        ("hash(b, 2) a", "no field b"),
        ("int(a)", "is no part"),
        ("desc(reverse(a))", "desc is of numbers"),
        ("text(a", "not closed"),
        ("a)", "not closed"),
        ("'a", "not closed"),
        ("digits(n, 99)", "is no part"),
        ("desc(desc(u8(a)))", "desc is of numbers"),
    ] {
        let e = Recipe::parse(recipe).unwrap_err();
        assert!(e.message.contains(sentence), "{recipe}: {e}");
    }
    let nested = |depth| format!("{}x{}", "desc(".repeat(depth), ")".repeat(depth));
    assert!(Recipe::parse(&nested(20_000)).unwrap_err().message.contains("8 brackets in each other"));
    let recipe = Recipe::parse("host '|' i8(n)").unwrap();
    for (given, sentence) in [
        ("host=a", "field n is missing"),
        ("host=a,n=1,x=2", "no field x; the key has host, n"),
        ("host=a|b,n=1", "`|` ends it"),
        ("host=a,n=128", "`128` is not a whole number of 8 bits"),
        ("host=a,n=", "is not a whole number"),
    ] {
        let e = recipe.encode(&fields(given)).unwrap_err();
        assert!(e.message.contains(sentence), "{given}: {e}");
    }
    assert!(recipe.decode(b"a|").is_err() && recipe.decode(b"a|xy").is_err() && recipe.decode(b"a").is_err());
    let ends = Recipe::parse("a 'xx' b").unwrap();
    assert!(ends.encode(&fields("a=cx,b=d")).is_err(), "its end would be part of what ends it");
    assert!(parse_fields(b"host").is_err() && parse_fields(b"a=1,a=2").is_err());
    assert!(Recipe::parse("row").unwrap().encode(&fields("row=")).is_err(), "no row has an empty key");
}

#[test]
fn keys_are_found_by_their_first_fields() {
    let shown = |recipe: &str, given: &str| {
        let given = if given.is_empty() { Fields::new() } else { fields(given) };
        let all = Recipe::parse(recipe).unwrap().prefixes(&given);
        all.map(|all| all.iter().map(|prefix| to_string_binary(prefix)).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(shown("host u8(n)", "host=a").unwrap(), "a\\x00");
    assert_eq!(shown("host '|' n", "host=a").unwrap(), "a|");
    assert_eq!(shown("salt(3) host n", "host=a").unwrap(), "\\x00a\\x00 \\x01a\\x00 \\x02a\\x00");
    assert_eq!(shown("salt(2) host n", "").unwrap(), "\\x00 \\x01");
    assert_eq!(shown("hash(host, 2) host n", "host=a").unwrap().len(), 2 + "a\\x00".len());
    assert_eq!(shown("hash(host, 2) host n", "").unwrap(), "");
    assert!(shown("hash(2) host n", "host=a").is_err());
    assert!(shown("host n m", "host=a,m=1").unwrap_err().message.contains("field n is missing"));
    assert_eq!(shown("host n", "n=1,host=a").unwrap(), "a\\x001");
}

/// A recipe of fixed-width parts and texts, its fields, and what they sort by.
const RECIPES: [&str; 8] = [
    "text u64(u) i64(i)",
    "i64(i) f64(f) text",
    "text(text, 12) i32(j) u64(u)",
    "digits(u, 20) reverse_domain(text)",
    "date(d) time(t) text",
    "time(t) i64(i) date(d) text",
    "f64(f) u64(u)",
    "i32(j) time(t) digits(u, 20)",
];

#[derive(Clone, Debug)]
struct Sample {
    text: String,
    u: u64,
    i: i64,
    j: i32,
    f: f64,
    d: i32,
    t: i64,
}

/// Something that sorts as a field does.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Sorted {
    Number(i128),
    Float(f64),
    Text(Vec<u8>),
}

impl Sample {
    fn date(&self) -> String {
        jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(self.d)).unwrap().to_string()
    }

    fn fields(&self, names: &[&str]) -> Fields {
        let of = |name: &&str| {
            let text = match *name {
                "text" => self.text.clone(),
                "u" => self.u.to_string(),
                "i" => self.i.to_string(),
                "j" => self.j.to_string(),
                "f" => self.f.to_string(),
                "d" => self.date(),
                _ => jiff::Timestamp::from_millisecond(self.t).unwrap().to_string(),
            };
            ((*name).to_owned(), text.into_bytes())
        };
        names.iter().map(of).collect()
    }

    fn sorted(&self, recipe: &str, names: &[&str]) -> Vec<Sorted> {
        let of = |name: &&str| match *name {
            "text" if recipe.contains("domain") => {
                let labels: Vec<&str> = self.text.split('.').rev().collect();
                Sorted::Text(labels.join(".").into_bytes())
            }
            "text" => Sorted::Text(self.text.clone().into_bytes()),
            "u" => Sorted::Number(self.u.into()),
            "i" => Sorted::Number(self.i.into()),
            "j" => Sorted::Number(self.j.into()),
            "f" => Sorted::Float(self.f),
            "d" => Sorted::Number(self.d.into()),
            _ => Sorted::Number(self.t.into()),
        };
        names.iter().map(of).collect()
    }
}

fn sample() -> impl Strategy<Value = Sample> {
    let times = prop_oneof![0..10_i64, 0..253_402_207_200_000_i64];
    let few = prop_oneof![(0..3_u64), any::<u64>()];
    let signed = prop_oneof![(-2..3_i64), any::<i64>()];
    let floats =
        prop_oneof![Just(0.0), Just(-1.5), -1e300..1e300_f64, any::<f64>().prop_filter("sorts", |f| !f.is_nan())];
    ("[a-c.é]{1,6}", few, signed, -3..3_i32, floats, -700_000..2_000_000_i32, times)
        .prop_map(|(text, u, i, j, f, d, t)| Sample { text, u, i, j, f, d, t })
}

proptest! {
    #[test]
    fn fields_come_back_and_keys_sort_as_they_do(one in sample(), other in sample(), at in 0..RECIPES.len()) {
        let text = RECIPES[at];
        for spread in ["", "salt(8) ", "hash(4) "] {
            let recipe = Recipe::parse(&format!("{spread}{text}")).unwrap();
            let names = recipe.names();
            let keys = [&one, &other].map(|sample| recipe.encode(&sample.fields(&names)).unwrap());
            prop_assert_eq!(recipe.decode(&keys[0]).unwrap(), one.fields(&names));
            // What stands in front of the fields spreads them.
            let [first, second] = [0, 1].map(|at| keys[at][recipe.spread_len()..].to_vec());
            let by_fields = one.sorted(text, &names).partial_cmp(&other.sorted(text, &names)).unwrap();
            let equal_floats = one.f == 0.0 && other.f == 0.0;
            prop_assert!(first.cmp(&second) == by_fields || equal_floats, "{} {:?} {:?}", text, one, other);
        }
    }

    #[test]
    fn descending_numbers_sort_backwards(a: i64, b: i64, t in 0..i64::MAX, s in 0..i64::MAX) {
        let recipe = Recipe::parse("desc(i64(n))").unwrap();
        let of = |n: i64| recipe.encode(&vec![("n".to_owned(), n.to_string().into_bytes())]).unwrap();
        prop_assert_eq!(of(a).cmp(&of(b)), b.cmp(&a));
        prop_assert_eq!(recipe.decode(&of(a)).unwrap()[0].1.clone(), a.to_string().into_bytes());
        let recipe = Recipe::parse("desc(t)").unwrap();
        let of = |n: i64| recipe.encode(&vec![("t".to_owned(), n.to_string().into_bytes())]).unwrap();
        prop_assert_eq!(of(t).cmp(&of(s)), s.cmp(&t));
        prop_assert_eq!(of(t), (i64::MAX - t).to_be_bytes());
        // Fields that were read give the same key again.
        prop_assert_eq!(recipe.encode(&recipe.decode(&of(t)).unwrap()).unwrap(), of(t));
    }

    /// Any bytes as fields, and as keys: what is taken comes back, what is read makes the same key.
    #[test]
    fn any_bytes_come_back_or_are_refused(host: Vec<u8>, tail: Vec<u8>, key: Vec<u8>, at in 0_usize..5) {
        let all = ["host tail", "host '--' tail", "salt(3) host 'x' tail", "text(host, 8) tail", "hash(host, 3) tail host"];
        let recipe = Recipe::parse(all[at]).unwrap();
        let mut given: Fields = vec![("host".to_owned(), host), ("tail".to_owned(), tail)];
        if let Ok(made) = recipe.encode(&given) {
            given.sort_by_key(|(name, _)| recipe.names().iter().position(|of| of == name));
            prop_assert_eq!(recipe.decode(&made).unwrap(), given.clone());
            prop_assert_eq!(parse_fields(fields_text(&given).as_bytes()).unwrap(), given);
        }
        if let Ok(read) = recipe.decode(&key) {
            prop_assert_eq!(recipe.encode(&read).unwrap(), key);
        }
    }
}
