//! Reads case files member by member, with the place in every error.

use serde_json::{Map, Value};

/// A JSON value and where it stands, for example `case.json: checks[1] (held-open): stdin`.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    value: &'a Value,
    place: String,
}

/// What is wrong with a case file: the place, and what to write there.
pub type Problem = String;

impl<'a> Node<'a> {
    /// Makes the root node of a file.
    pub fn root(value: &'a Value, place: &str) -> Node<'a> {
        Node { value, place: place.to_owned() }
    }

    /// Returns the value itself.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// Adds a name to the place, for nodes that are known by one.
    pub fn named(mut self, name: &str) -> Node<'a> {
        self.place = format!("{} ({name})", self.place);
        self
    }

    /// Makes a problem at this place.
    pub fn problem(&self, what: impl std::fmt::Display) -> Problem {
        format!("{}: {what}", self.place)
    }

    /// Returns a member that may be missing.
    ///
    /// # Errors
    /// This is no object.
    pub fn maybe(&self, key: &str) -> Result<Option<Node<'a>>, Problem> {
        let place = format!("{}.{key}", self.place);
        Ok(self.members()?.get(key).map(|value| Node { value, place }))
    }

    /// Returns a member that must be there.
    ///
    /// # Errors
    /// This is no object, or has no such member.
    pub fn member(&self, key: &str) -> Result<Node<'a>, Problem> {
        self.maybe(key)?.ok_or_else(|| self.problem(format_args!("field '{key}' is missing")))
    }

    /// Returns the members of an object.
    ///
    /// # Errors
    /// This is no object.
    pub fn members(&self) -> Result<&'a Map<String, Value>, Problem> {
        self.value.as_object().ok_or_else(|| self.problem("must be an object"))
    }

    /// Returns the members of a list.
    ///
    /// # Errors
    /// This is no list.
    pub fn list(&self) -> Result<Vec<Node<'a>>, Problem> {
        let members = self.value.as_array().ok_or_else(|| self.problem("must be a list"))?;
        let place = |index| format!("{}[{index}]", self.place);
        Ok(members.iter().enumerate().map(|(index, value)| Node { value, place: place(index) }).collect())
    }

    /// Returns a text.
    ///
    /// # Errors
    /// This is no text.
    pub fn text(&self) -> Result<&'a str, Problem> {
        self.value.as_str().ok_or_else(|| self.problem("must be a text"))
    }

    /// Returns a whole number that is not negative.
    ///
    /// # Errors
    /// This is something else.
    pub fn number(&self) -> Result<u64, Problem> {
        self.value.as_u64().ok_or_else(|| self.problem("must be a whole number that is not negative"))
    }

    /// Returns true or false.
    ///
    /// # Errors
    /// This is neither.
    pub fn flag(&self) -> Result<bool, Problem> {
        self.value.as_bool().ok_or_else(|| self.problem("must be true or false"))
    }

    /// Returns a list of texts.
    ///
    /// # Errors
    /// This is no list, or one of its members is no text.
    pub fn texts(&self) -> Result<Vec<String>, Problem> {
        self.list()?.iter().map(|node| node.text().map(str::to_owned)).collect()
    }

    /// Returns the text under a key, if there is one.
    ///
    /// # Errors
    /// It is there and no text.
    pub fn maybe_text(&self, key: &str) -> Result<Option<String>, Problem> {
        self.maybe(key)?.map(|node| node.text().map(str::to_owned)).transpose()
    }

    /// Returns the number under a key, if there is one.
    ///
    /// # Errors
    /// It is there and no whole number.
    pub fn maybe_number(&self, key: &str) -> Result<Option<u64>, Problem> {
        self.maybe(key)?.map(|node| node.number()).transpose()
    }

    /// Returns the flag under a key; a missing one is false.
    ///
    /// # Errors
    /// It is there and neither true nor false.
    pub fn flag_or_false(&self, key: &str) -> Result<bool, Problem> {
        self.maybe(key)?.map_or(Ok(false), |node| node.flag())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn problems_name_the_place() {
        let value = json!({"checks": [{"name": "x", "needs": ["a", 1]}]});
        let root = Node::root(&value, "case.json");
        assert_eq!(root.member("id").unwrap_err(), "case.json: field 'id' is missing");
        let check = root.member("checks").unwrap().list().unwrap().remove(0).named("x");
        assert_eq!(
            check.member("needs").unwrap().texts().unwrap_err(),
            "case.json.checks[0] (x).needs[1]: must be a text"
        );
        assert_eq!(
            check.member("name").unwrap().list().unwrap_err(),
            "case.json.checks[0] (x).name: must be a list"
        );
    }
}
