//! A text with some of its parts replaced.

use std::borrow::Cow;

/// Copies a text, and what takes the place of its parts, in order.
pub(crate) struct Patched<'a> {
    text: &'a str,
    out: String,
    copied: usize,
}

impl<'a> Patched<'a> {
    pub(crate) fn new(text: &'a str) -> Patched<'a> {
        Patched { text, out: String::new(), copied: 0 }
    }

    /// Leaves out a part, behind those before; what takes its place is to be appended to what is returned.
    pub(crate) fn replace(&mut self, start: usize, end: usize) -> &mut String {
        self.out.push_str(&self.text[self.copied..start]);
        self.copied = end;
        &mut self.out
    }

    /// The text as it is now: borrowed where nothing was replaced.
    pub(crate) fn finish(mut self) -> Cow<'a, str> {
        if self.copied == 0 {
            return Cow::Borrowed(self.text);
        }
        self.out.push_str(&self.text[self.copied..]);
        Cow::Owned(self.out)
    }
}
