//! The expected-value language: what a check may say about an observed value.
//!
//! A plain value must be equal; an object whose keys start with `$` holds operators, all of which must hold. Plain
//! objects and lists may hold operators further in; then each member is asked for itself and none may be left over.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Number, Value};

use crate::path;

/// What a check expects of one value.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Exactly this scalar.
    Scalar(Value),
    /// A list with these members in this order.
    List(Vec<Expected>),
    /// An object with these members and no others; a member may be expected to be absent.
    Object(BTreeMap<String, Expected>),
    /// All of these hold.
    All(Vec<Operator>),
}

/// One operator with its operand.
#[derive(Clone, Debug)]
pub enum Operator {
    /// `$any`: one of them holds.
    Any(Vec<Expected>),
    /// `$not`: it does not hold.
    Not(Box<Expected>),
    /// `$has`: a text contains all of them, a list has all of them as members.
    Has(Vec<Expected>),
    /// `$lacks`: a text or list contains none of them.
    Lacks(Vec<Expected>),
    /// `$min`: a number that is at least this.
    Min(f64),
    /// `$max`: a number that is at most this.
    Max(f64),
    /// `$match`: a text that the pattern matches somewhere.
    Match(Regex),
    /// `$absent`: whether it is not there; null counts as there.
    Absent(bool),
    /// `$len`: members of a list or object, characters of a text.
    Len(Box<Expected>),
    /// `$set`: a list with these members, each once, in any order.
    Set(Vec<Expected>),
    /// `$subset`: a list all of whose members are among these.
    Subset(Vec<Expected>),
    /// `$distinct`: a list without equal members; texts that differ in case only count as equal where asked for.
    Distinct {
        /// Texts are compared without regard to case.
        ignore_case: bool,
    },
    /// `$same`: a list of equal members only.
    Same,
    /// `$each`: a list that is not empty, each member of which satisfies it.
    Each(Box<Expected>),
}

impl Expected {
    /// Reads an expected value.
    ///
    /// # Errors
    /// Names the place inside the value and what is wrong there: an unknown operator, a wrong operand, operators and
    /// plain keys in one object.
    pub fn parse(value: &Value) -> Result<Expected, String> {
        match value {
            Value::Array(members) => Ok(Expected::List(parse_all(members)?)),
            Value::Object(members) => {
                let operators = members.keys().filter(|key| key.starts_with('$')).count();
                if operators == 0 {
                    let mut parsed = BTreeMap::new();
                    for (key, member) in members {
                        let expected = Expected::parse(member).map_err(|error| format!("{key}: {error}"))?;
                        parsed.insert(key.clone(), expected);
                    }
                    return Ok(Expected::Object(parsed));
                }
                if operators != members.len() {
                    return Err("mixes operators and plain keys; use one or the other".into());
                }
                let mut all = Vec::new();
                for (name, operand) in members {
                    all.push(Operator::parse(name, operand).map_err(|error| format!("{name}: {error}"))?);
                }
                Ok(Expected::All(all))
            }
            scalar => Ok(Expected::Scalar(scalar.clone())),
        }
    }

    /// Tells whether the observed value (`None`: not there) is what is expected.
    pub fn holds(&self, observed: Option<&Value>) -> bool {
        match (self, observed) {
            (Expected::All(operators), _) => operators.iter().all(|operator| operator.holds(observed)),
            (_, None) => false,
            (Expected::Scalar(expected), Some(observed)) => equal(expected, observed),
            (Expected::List(expected), Some(Value::Array(observed))) => {
                expected.len() == observed.len()
                    && expected
                        .iter()
                        .zip(observed)
                        .all(|(expected, observed)| expected.holds(Some(observed)))
            }
            (Expected::Object(expected), Some(Value::Object(observed))) => {
                expected.iter().all(|(key, expected)| expected.holds(observed.get(key)))
                    && observed.keys().all(|key| expected.contains_key(key))
            }
            _ => false,
        }
    }
}

impl Operator {
    fn parse(name: &str, operand: &Value) -> Result<Operator, String> {
        let list = || match operand {
            Value::Array(members) => parse_all(members),
            _ => Err("must be a list".to_owned()),
        };
        let list_or_text = || match operand {
            Value::String(_) => Ok(vec![Expected::Scalar(operand.clone())]),
            Value::Array(members) => parse_all(members),
            _ => Err("must be a list or a text".to_owned()),
        };
        let number = || operand.as_f64().ok_or_else(|| "must be a number".to_owned());
        let inner = || Expected::parse(operand).map(Box::new);
        Ok(match name {
            "$any" => Operator::Any(list()?),
            "$not" => Operator::Not(inner()?),
            "$has" => Operator::Has(list_or_text()?),
            "$lacks" => Operator::Lacks(list_or_text()?),
            "$min" => Operator::Min(number()?),
            "$max" => Operator::Max(number()?),
            "$match" => {
                let pattern = operand.as_str().ok_or("must be a text")?;
                Operator::Match(
                    Regex::new(pattern).map_err(|error| format!("is no pattern: {}", one_line(&error)))?,
                )
            }
            "$absent" => Operator::Absent(operand.as_bool().ok_or("must be true or false")?),
            "$len" => match operand {
                Value::Number(_) | Value::Object(_) => Operator::Len(inner()?),
                _ => return Err("must be a number or operators".into()),
            },
            "$set" => Operator::Set(list()?),
            "$subset" => Operator::Subset(list()?),
            "$distinct" => match operand {
                Value::Bool(true) => Operator::Distinct { ignore_case: false },
                Value::String(word) if word == "ignore-case" => Operator::Distinct { ignore_case: true },
                _ => return Err("must be true or \"ignore-case\"".into()),
            },
            "$same" if operand == &Value::Bool(true) => Operator::Same,
            "$same" => return Err("must be true".into()),
            "$each" => Operator::Each(inner()?),
            _ => return Err("is not an operator".into()),
        })
    }

    fn holds(&self, observed: Option<&Value>) -> bool {
        match self {
            Operator::Any(options) => options.iter().any(|option| option.holds(observed)),
            Operator::Not(unwanted) => !unwanted.holds(observed),
            Operator::Has(wanted) => wanted.iter().all(|one| contains(observed, one) == Some(true)),
            Operator::Lacks(unwanted) => {
                is_container(observed) && unwanted.iter().all(|one| contains(observed, one) == Some(false))
            }
            Operator::Min(bound) => number_of(observed).is_some_and(|number| number >= *bound),
            Operator::Max(bound) => number_of(observed).is_some_and(|number| number <= *bound),
            Operator::Match(pattern) => {
                observed.and_then(Value::as_str).is_some_and(|text| pattern.is_match(text))
            }
            Operator::Absent(absent) => observed.is_none() == *absent,
            Operator::Len(expected) => {
                length_of(observed).is_some_and(|length| expected.holds(Some(&Value::from(length))))
            }
            Operator::Set(expected) => {
                list_of(observed).is_some_and(|members| is_permutation(expected, members))
            }
            Operator::Subset(allowed) => list_of(observed).is_some_and(|members| {
                members.iter().all(|member| allowed.iter().any(|one| one.holds(Some(member))))
            }),
            Operator::Distinct { ignore_case } => list_of(observed).is_some_and(|members| {
                let folded: Vec<Value> =
                    members.iter().map(|member| fold_case(member, *ignore_case)).collect();
                folded
                    .iter()
                    .enumerate()
                    .all(|(index, member)| !folded[..index].iter().any(|earlier| equal(earlier, member)))
            }),
            Operator::Same => list_of(observed)
                .is_some_and(|members| members.windows(2).all(|pair| equal(&pair[0], &pair[1]))),
            Operator::Each(expected) => list_of(observed).is_some_and(|members| {
                !members.is_empty() && members.iter().all(|member| expected.holds(Some(member)))
            }),
        }
    }
}

/// One member of an `expect` object: a path into what was observed, and what is expected there.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The path as written.
    pub path: String,
    /// The expected value as written, for the report.
    pub written: Value,
    /// The expected value.
    pub expected: Expected,
}

impl Expectation {
    /// Reads an `expect` object: one expectation a member.
    ///
    /// # Errors
    /// It is no object, it is empty, or a value in it cannot be read; the text names the path.
    pub fn parse_all(value: &Value) -> Result<Vec<Expectation>, String> {
        let members = value.as_object().ok_or("must be an object of paths and expected values")?;
        if members.is_empty() {
            return Err("expects nothing".into());
        }
        let mut all = Vec::new();
        for (path, written) in members {
            path::check(path).map_err(|error| format!("path '{path}': {error}"))?;
            let expected = Expected::parse(written).map_err(|error| format!("'{path}': {error}"))?;
            all.push(Expectation { path: path.clone(), written: written.clone(), expected });
        }
        Ok(all)
    }

    /// Looks the path up and tells what is there and whether it is as expected.
    pub fn test(&self, observed: &Value) -> (Option<Value>, bool) {
        let found = path::find(observed, &self.path);
        let holds = self.expected.holds(found.as_deref());
        (found.map(std::borrow::Cow::into_owned), holds)
    }
}

fn parse_all(members: &[Value]) -> Result<Vec<Expected>, String> {
    members
        .iter()
        .enumerate()
        .map(|(index, member)| Expected::parse(member).map_err(|error| format!("[{index}]: {error}")))
        .collect()
}

/// Equality of JSON values; numbers are equal when their values are, however they are written.
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => equal_numbers(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => left == right,
    }
}

fn equal_numbers(left: &Number, right: &Number) -> bool {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// `None` where the question makes no sense: neither a text nor a list, or something other than a text in a text.
fn contains(observed: Option<&Value>, wanted: &Expected) -> Option<bool> {
    match (observed?, wanted) {
        (Value::String(text), Expected::Scalar(Value::String(part))) => Some(text.contains(part.as_str())),
        (Value::Array(members), wanted) => Some(members.iter().any(|member| wanted.holds(Some(member)))),
        _ => None,
    }
}

fn is_container(observed: Option<&Value>) -> bool {
    matches!(observed, Some(Value::String(_) | Value::Array(_)))
}

fn number_of(observed: Option<&Value>) -> Option<f64> {
    observed.and_then(Value::as_f64)
}

fn list_of(observed: Option<&Value>) -> Option<&[Value]> {
    observed.and_then(Value::as_array).map(Vec::as_slice)
}

fn length_of(observed: Option<&Value>) -> Option<usize> {
    match observed? {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(members) => Some(members.len()),
        Value::Object(members) => Some(members.len()),
        _ => None,
    }
}

/// Matches expected and observed members one to one. Operators may fit several members, so a member that is taken may
/// have to move to another expected one (augmenting paths).
fn is_permutation(expected: &[Expected], members: &[Value]) -> bool {
    fn place(
        index: usize,
        expected: &[Expected],
        members: &[Value],
        taken: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        for (position, member) in members.iter().enumerate() {
            if tried[position] || !expected[index].holds(Some(member)) {
                continue;
            }
            tried[position] = true;
            let free = match taken[position] {
                None => true,
                Some(other) => place(other, expected, members, taken, tried),
            };
            if free {
                taken[position] = Some(index);
                return true;
            }
        }
        false
    }
    if expected.len() != members.len() {
        return false;
    }
    let mut taken = vec![None; members.len()];
    (0..expected.len())
        .all(|index| place(index, expected, members, &mut taken, &mut vec![false; members.len()]))
}

fn fold_case(value: &Value, ignore_case: bool) -> Value {
    match value {
        Value::String(text) if ignore_case => Value::String(text.to_lowercase()),
        other => other.clone(),
    }
}

fn one_line(error: &regex::Error) -> String {
    error.to_string().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(expected: Value, observed: Value) -> bool {
        Expected::parse(&expected).unwrap().holds(Some(&observed))
    }

    fn refused(expected: Value) -> String {
        Expected::parse(&expected).unwrap_err()
    }

    #[test]
    fn plain_values_are_equal_as_a_whole() {
        assert!(holds(json!(1), json!(1.0)));
        assert!(!holds(json!(1), json!(true)));
        assert!(!holds(json!(1), json!("1")));
        assert!(holds(json!(null), json!(null)));
        assert!(!holds(json!([]), json!({})));
        assert!(holds(json!({"a": [1, 2]}), json!({"a": [1, 2]})));
        assert!(!holds(json!({"a": 1}), json!({"a": 1, "b": 2})));
        assert!(!holds(json!({"a": 1, "b": 2}), json!({"a": 1})));
        assert!(!holds(json!({}), json!({"a": 1})));
        assert!(!holds(json!([1, 2]), json!([2, 1])));
        assert!(holds(json!(9007199254740993u64), json!(9007199254740993u64)));
        assert!(!holds(json!(9007199254740993u64), json!(9007199254740992u64)));
    }

    #[test]
    fn operators_may_stand_inside_plain_objects_and_lists() {
        let expected = json!({"rows": [], "errors": {"$len": {"$min": 1}}, "note": {"$absent": true}});
        assert!(holds(expected.clone(), json!({"rows": [], "errors": ["x"]})));
        assert!(!holds(expected.clone(), json!({"rows": [], "errors": []})));
        assert!(!holds(expected, json!({"rows": [], "errors": ["x"], "note": null})));
        assert!(holds(json!([{"$min": 2}, 1]), json!([2, 1])));
    }

    #[test]
    fn any_and_not() {
        assert!(holds(json!({"$any": [400, {"$min": 500}]}), json!(503)));
        assert!(!holds(json!({"$any": [400, {"$min": 500}]}), json!(200)));
        assert!(!holds(json!({"$any": []}), json!(1)));
        assert!(holds(json!({"$not": 1}), json!(2)));
        assert!(!holds(json!({"$not": {"$min": 1}}), json!(2)));
        assert!(Expected::parse(&json!({"$not": 1})).unwrap().holds(None));
    }

    #[test]
    fn has_and_lacks_work_on_texts_and_lists() {
        assert!(holds(json!({"$has": ["ab", "c"]}), json!("abc")));
        assert!(holds(json!({"$has": "b"}), json!("abc")));
        assert!(!holds(json!({"$has": ["x"]}), json!("abc")));
        assert!(holds(json!({"$has": ["b", "a"]}), json!(["a", "b", "c"])));
        assert!(!holds(json!({"$has": ["ab"]}), json!(["abc"])));
        assert!(!holds(json!({"$has": ["a"]}), json!(null)));
        assert!(!holds(json!({"$has": [1]}), json!("1")));
        assert!(holds(json!({"$lacks": ["x"]}), json!("abc")));
        assert!(!holds(json!({"$lacks": ["b"]}), json!("abc")));
        assert!(!holds(json!({"$lacks": ["b"]}), json!(["a", "b"])));
        assert!(holds(json!({"$lacks": ["b"]}), json!([])));
        assert!(!holds(json!({"$lacks": ["b"]}), json!(5)), "neither a text nor a list");
        assert!(!Expected::parse(&json!({"$lacks": ["b"]})).unwrap().holds(None));
    }

    #[test]
    fn bounds_ask_for_numbers() {
        assert!(holds(json!({"$min": 1, "$max": 3}), json!(3)));
        assert!(!holds(json!({"$min": 1, "$max": 3}), json!(3.5)));
        assert!(!holds(json!({"$min": 0}), json!("5")));
        assert!(!holds(json!({"$max": 3}), json!(null)));
    }

    #[test]
    fn match_finds_the_pattern_anywhere() {
        assert!(holds(json!({"$match": "b+"}), json!("abbc")));
        assert!(!holds(json!({"$match": "^b"}), json!("abbc")));
        assert!(!holds(json!({"$match": "1"}), json!(1)));
        assert!(!holds(json!({"$match": "^[^\\u0000-\\u001f\\u2060]*$"}), json!("a\u{2060}b")));
        assert!(refused(json!({"$match": "("})).starts_with("$match: is no pattern"));
    }

    #[test]
    fn null_counts_as_there() {
        let absent = Expected::parse(&json!({"$absent": true})).unwrap();
        assert!(absent.holds(None));
        assert!(!absent.holds(Some(&json!(null))));
        let there = Expected::parse(&json!({"$absent": false})).unwrap();
        assert!(there.holds(Some(&json!(null))));
        assert!(!there.holds(None));
        let either = Expected::parse(&json!({"$any": [null, {"$absent": true}]})).unwrap();
        assert!(either.holds(None) && either.holds(Some(&json!(null))) && !either.holds(Some(&json!(1))));
    }

    #[test]
    fn len_counts_members_and_characters() {
        assert!(holds(json!({"$len": 2}), json!([1, 2])));
        assert!(holds(json!({"$len": {"$max": 1}}), json!([])));
        assert!(holds(json!({"$len": 2}), json!("é😀")));
        assert!(holds(json!({"$len": 1}), json!({"a": 1})));
        assert!(!holds(json!({"$len": 0}), json!(null)));
        assert_eq!(refused(json!({"$len": "2"})), "$len: must be a number or operators");
    }

    #[test]
    fn set_is_one_to_one_in_any_order() {
        assert!(holds(json!({"$set": ["a", "b"]}), json!(["b", "a"])));
        assert!(!holds(json!({"$set": ["a", "b"]}), json!(["b", "a", "a"])));
        assert!(!holds(json!({"$set": ["a", "b"]}), json!(["a", "a"])));
        assert!(holds(json!({"$set": []}), json!([])));
        assert!(holds(json!({"$set": [{"$min": 1}, {"$min": 5}]}), json!([7, 2])), "a taken member may move");
        assert!(holds(json!({"$set": [{"$min": 1}, {"$min": 5}]}), json!([2, 7])));
    }

    #[test]
    fn subset_has_no_other_members() {
        assert!(holds(json!({"$subset": ["a", "b"]}), json!(["b", "b"])));
        assert!(holds(json!({"$subset": []}), json!([])));
        assert!(!holds(json!({"$subset": ["a"]}), json!(["a", "c"])));
        assert!(!holds(json!({"$subset": ["a"]}), json!("a")));
    }

    #[test]
    fn distinct_and_same() {
        assert!(holds(json!({"$distinct": true}), json!(["a", "A", 1])));
        assert!(!holds(json!({"$distinct": true}), json!([1, 1.0])));
        assert!(!holds(json!({"$distinct": "ignore-case"}), json!(["a", "A"])));
        assert!(holds(json!({"$distinct": true}), json!([])));
        assert!(holds(json!({"$same": true}), json!(["a", "a"])));
        assert!(!holds(json!({"$same": true}), json!(["a", "b"])));
        assert!(!holds(json!({"$distinct": true}), json!("ab")));
        assert_eq!(refused(json!({"$distinct": false})), "$distinct: must be true or \"ignore-case\"");
    }

    #[test]
    fn each_refuses_an_empty_list() {
        assert!(holds(json!({"$each": null}), json!([null, null])));
        assert!(holds(json!({"$each": {"$min": 1}}), json!([1, 2])));
        assert!(!holds(json!({"$each": {"$min": 1}}), json!([1, 0])));
        assert!(!holds(json!({"$each": 1}), json!([])));
    }

    #[test]
    fn mistakes_in_expectations_are_named() {
        assert_eq!(refused(json!({"$any": 1})), "$any: must be a list");
        assert_eq!(refused(json!({"$min": "1"})), "$min: must be a number");
        assert_eq!(refused(json!({"$near": 1})), "$near: is not an operator");
        assert_eq!(
            refused(json!({"$min": 1, "x": 2})),
            "mixes operators and plain keys; use one or the other"
        );
        assert_eq!(refused(json!({"a": [{"$same": 1}]})), "a: [0]: $same: must be true");
        assert_eq!(Expectation::parse_all(&json!({})).unwrap_err(), "expects nothing");
    }
}
