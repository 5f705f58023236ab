//! Times as transcripts write them.

/// Reads `2026-01-15T09:00:09.000Z` (RFC 3339 in UTC, as all hosts write it) as Unix milliseconds.
pub(super) fn parse(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<u64> {
        let part = text.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")];
    if marks.iter().any(|(at, mark)| text.get(*at..at + 1) != Some(mark)) {
        return None;
    }
    let fraction = text.get(19..)?.strip_suffix('Z')?;
    let ms = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<3}").get(..3)?.parse::<u64>().ok()?
        }
        _ => return None,
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    // Days of the proleptic Gregorian calendar, with the year beginning in March.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = 365 * shifted_year + shifted_year / 4 - shifted_year / 100 + shifted_year / 400 + day_of_year;
    let days = days.checked_sub(719_468)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + ms)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_read_as_written() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2026-01-15T12:00:00.000Z"), Some(1_768_478_400_000));
        assert_eq!(parse("2024-02-29T23:59:59.5Z"), Some(1_709_251_199_500));
        assert_eq!(parse("2026-11-30T02:58:26.957123Z"), Some(1_796_007_506_957));
        for bad in
            ["", "2026-01-15", "2026-13-15T12:00:00Z", "2026-01-15T12:00:00+01:00", "2026-01-15T12:00:00.Z"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
