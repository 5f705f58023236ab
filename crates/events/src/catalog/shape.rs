//! What a payload consists of, as types and as a table that is made of the same declaration.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The JSON shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A whole number, at or above `minimum`.
    Integer {
        /// The lowest value, where there is one.
        minimum: Option<i64>,
    },
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// Any JSON value.
    Json,
    /// A string out of a list.
    Word {
        /// The name of the list.
        name: &'static str,
        /// What the reference knows.
        words: &'static [&'static str],
    },
    /// A whole number out of a list.
    Choice(&'static [u64]),
    /// An array.
    List {
        /// What each item is.
        items: &'static Kind,
        /// How many there are at least.
        at_least: usize,
    },
    /// An object with these members.
    Object {
        /// The name of the Rust type.
        name: &'static str,
        /// Its members, in the order of the reference.
        fields: &'static [Field],
    },
}

/// One member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// The shape of its value.
    pub kind: Kind,
    /// It may be absent. Absent and null are different things.
    pub optional: bool,
    /// Its value may be null.
    pub nullable: bool,
    /// The reference does not have it.
    pub ours: bool,
}

/// A type that stands for a JSON shape.
pub trait Shaped {
    /// The shape.
    const KIND: Kind;
    /// A member of this type may be absent.
    const OPTIONAL: bool = false;
    /// A member of this type may be null.
    const NULLABLE: bool = false;

    /// True for a member that is not written.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A whole number from 1: a line of a file, or a place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

/// Which of at most two verifications of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u64);

/// A value that may be null, and is present all the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nullable<T>(pub Option<T>);

/// A list of at least one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Filled<T>(pub Vec<T>);

/// Any JSON value, byte for byte.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Box<RawValue>);

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Gives types that stand for one shape each their trait.
macro_rules! shaped {
    ($($type:ty => $kind:expr),* $(,)?) => {
        $(impl Shaped for $type { const KIND: Kind = $kind; })*
    };
}

shaped! {
    String => Kind::Text,
    u64 => Kind::Integer { minimum: Some(0) },
    i64 => Kind::Integer { minimum: None },
    Position => Kind::Integer { minimum: Some(1) },
    Attempt => Kind::Choice(&[1, 2]),
    f64 => Kind::Number,
    bool => Kind::Boolean,
    Json => Kind::Json,
}

impl<T: Shaped> Shaped for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Shaped> Shaped for Nullable<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
}

impl<T: Shaped> Shaped for Vec<T> {
    const KIND: Kind = Kind::List { items: &T::KIND, at_least: 0 };
}

impl<T: Shaped> Shaped for Filled<T> {
    const KIND: Kind = Kind::List { items: &T::KIND, at_least: 1 };
}

/// Declares objects: a member a line, its name in JSON, its name here, its type; `[ours]` where the reference has none.
macro_rules! objects {
    (@ours) => { false };
    (@ours ours) => { true };
    ($(
        $(#[$about:meta])*
        $object:ident { $($name:literal $field:ident: $type:ty $([$ours:ident])?),* $(,)? }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $object {
            $(
                #[doc = concat!("`", $name, "`")]
                #[serde(rename = $name, skip_serializing_if = "crate::catalog::shape::Shaped::is_absent")]
                pub $field: $type,
            )*
        }

        impl crate::catalog::shape::Shaped for $object {
            const KIND: crate::catalog::shape::Kind = crate::catalog::shape::Kind::Object {
                name: stringify!($object),
                fields: &[$(crate::catalog::shape::Field {
                    name: $name,
                    kind: <$type as crate::catalog::shape::Shaped>::KIND,
                    optional: <$type as crate::catalog::shape::Shaped>::OPTIONAL,
                    nullable: <$type as crate::catalog::shape::Shaped>::NULLABLE,
                    ours: objects!(@ours $($ours)?),
                }),*],
            };
        }
    )*};
}
pub(crate) use objects;
