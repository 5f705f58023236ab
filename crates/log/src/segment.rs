//! Names of segment files.

/// What the name of a compressed segment ends with.
const COLD: &str = ".zst";

/// A segment's place in its log: the first seq it was made for, and a count that tells apart segments made for the
/// same one (after a failed sync nothing is written to the old file again).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    pub first_seq: u64,
    pub copy: u32,
}

impl SegmentName {
    /// Reads `0000000001.jsonl` or `0000000001-2.jsonl`, or either with `.zst` behind it; nothing for any other file.
    pub(crate) fn parse(name: &str) -> Option<SegmentName> {
        let name = name.strip_suffix(COLD).unwrap_or(name);
        let stem = name.strip_suffix(".jsonl")?;
        let (first, copy) = match stem.split_once('-') {
            Some((first, copy)) => (first, copy.parse().ok().filter(|copy| *copy > 1)?),
            None => (stem, 1),
        };
        let digits = first.len() >= 10 && first.bytes().all(|byte| byte.is_ascii_digit());
        let name_of = SegmentName { first_seq: first.parse().ok()?, copy };
        (digits && name_of.first_seq > 0 && name_of.file_name() == name).then_some(name_of)
    }

    pub(crate) fn file_name(self) -> String {
        self.stem() + ".jsonl"
    }

    fn stem(self) -> String {
        match self.copy {
            1 => format!("{:010}", self.first_seq),
            copy => format!("{:010}-{copy}", self.first_seq),
        }
    }

    /// Returns the name of its compressed form.
    pub(crate) fn cold_name(self) -> String {
        self.file_name() + COLD
    }

    /// Returns the name of its index.
    pub(crate) fn index_name(self) -> String {
        self.stem() + ".idx"
    }

    /// Returns the name of the file that says which crc the next segment continues.
    pub(crate) fn carry_name(self) -> String {
        self.stem() + ".carry"
    }

    /// Returns the name under which a damaged segment is kept that was repaired; `tries` tells apart repairs within one
    /// millisecond.
    pub(crate) fn damaged_name(self, now_ms: u64, tries: u32) -> String {
        self.kept_name("damaged", now_ms, tries)
    }

    /// Returns the name under which cut bytes are kept; `tries` tells apart cuts within one millisecond.
    pub(crate) fn torn_name(self, now_ms: u64, tries: u32) -> String {
        self.kept_name("torn", now_ms, tries)
    }

    fn kept_name(self, what: &str, now_ms: u64, tries: u32) -> String {
        let stem = self.stem();
        match tries {
            0 => format!("{stem}.{what}-{now_ms}"),
            again => format!("{stem}.{what}-{now_ms}-{again}"),
        }
    }
}

/// Picks the segments out of a folder's file names, in the order in which they are read. One that is there both plain and
/// compressed is one.
pub(crate) fn segments_of(names: &[String]) -> Vec<SegmentName> {
    let mut segments: Vec<SegmentName> = names.iter().filter_map(|name| SegmentName::parse(name)).collect();
    segments.sort_unstable();
    segments.dedup();
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ten_digits_and_sort_by_number() {
        let names = ["0000000002.jsonl", "10000000000.jsonl", "0000000001-2.jsonl", "0000000001.jsonl"];
        let segments = segments_of(&names.map(str::to_owned));
        let sorted: Vec<String> = segments.iter().map(|segment| segment.file_name()).collect();
        assert_eq!(
            sorted,
            ["0000000001.jsonl", "0000000001-2.jsonl", "0000000002.jsonl", "10000000000.jsonl"]
        );
    }

    #[test]
    fn a_segment_is_one_plain_or_compressed() {
        let names = ["0000000005.jsonl.zst", "0000000001.jsonl", "0000000001.jsonl.zst"];
        let segments = segments_of(&names.map(str::to_owned));
        let sorted: Vec<String> = segments.iter().map(|segment| segment.file_name()).collect();
        assert_eq!(sorted, ["0000000001.jsonl", "0000000005.jsonl"]);
        assert_eq!(segments[1].cold_name(), "0000000005.jsonl.zst");
        assert_eq!(segments[1].carry_name(), "0000000005.carry");
    }

    #[test]
    fn other_files_are_no_segments() {
        for name in [
            "1.jsonl",
            "0000000000.jsonl",
            "0000000001.idx",
            "0000000001.torn-5",
            "0000000001-1.jsonl",
            "+000000001.jsonl",
            "meta.json",
            "0000000001.zst",
            "0000000001.jsonl.zst.tmp",
            "0000000001.jsonl.zst.zst",
        ] {
            assert_eq!(SegmentName::parse(name), None, "{name}");
        }
    }
}
