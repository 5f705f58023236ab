//! Moments of the past: as a person writes them, and as they are shown, in the local time zone.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use crate::clock::now_ms;
use crate::text::parse_duration;

/// Why a moment was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMoment {
    /// It was not understood.
    #[error(
        "'{0}' is no time: write 14:05, '2026-11-30 14:05', 2026-11-30 for its beginning, 2026-11-30T14:05:00Z, or 10m for ten \
         minutes ago"
    )]
    Unknown(String),
    /// Nothing is known of it yet.
    #[error("'{0}' lies ahead: only what was is known")]
    Ahead(String),
}

/// Reads a moment that is over, and returns Unix milliseconds. A time of day is the last one that was, a day its beginning.
///
/// # Errors
/// Another text, or a moment to come.
pub fn parse_moment(text: &str) -> Result<u64, BadMoment> {
    read(text.trim(), now_ms(), &TimeZone::system())
}

/// Writes a moment as `2026-11-30 14:05:31`.
pub fn moment_words(ms: u64) -> String {
    words(ms, TimeZone::system())
}

fn words(ms: u64, zone: TimeZone) -> String {
    match i64::try_from(ms).map(Timestamp::from_millisecond) {
        Ok(Ok(moment)) => moment.to_zoned_datetime(zone).strftime("%F %T").to_string(),
        // No year that anybody has seen.
        _ => format!("{ms} ms"),
    }
}

fn read(text: &str, now_ms: u64, zone: &TimeZone) -> Result<u64, BadMoment> {
    let ago = text.strip_suffix(" ago").unwrap_or(text);
    if text == "now" {
        return Ok(now_ms);
    } else if let Ok(ms) = parse_duration(ago) {
        return Ok(now_ms.saturating_sub(ms));
    }
    let unknown = || BadMoment::Unknown(text.to_owned());
    let ms = |moment: Timestamp| u64::try_from(moment.as_millisecond()).map_err(|_| unknown());
    let local = |moment: DateTime| ms(zone.to_timestamp(moment).map_err(|_| unknown())?);
    // Only what has a colon, or is a day: "14" might be anything.
    let day = text.parse::<Date>().ok().filter(|_| !text.contains(':'));
    if day.is_none() && !text.contains(':') {
        return Err(unknown());
    }
    let moment = if let Some(day) = day {
        local(day.to_datetime(Time::midnight()))?
    } else if let Ok(moment) = text.parse::<Timestamp>() {
        ms(moment)?
    } else if let Ok(moment) = text.parse::<DateTime>() {
        local(moment)?
    } else if let Ok(time) = text.parse::<Time>() {
        let now = i64::try_from(now_ms)
            .map_or(Timestamp::MAX, |now| Timestamp::from_millisecond(now).unwrap_or(Timestamp::MAX));
        let today = zone.to_datetime(now).date();
        let moment = local(today.to_datetime(time))?;
        if moment <= now_ms {
            moment
        } else {
            local(today.yesterday().map_err(|_| unknown())?.to_datetime(time))?
        }
    } else {
        return Err(unknown());
    };
    if moment > now_ms { Err(BadMoment::Ahead(text.to_owned())) } else { Ok(moment) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30 14:05:31 in a zone one hour east.
    const NOW_MS: u64 = 1_796_043_931_000;

    fn zone() -> TimeZone {
        TimeZone::posix("CET-1").unwrap()
    }

    fn of(text: &str) -> Result<String, BadMoment> {
        read(text, NOW_MS, &zone()).map(|ms| words(ms, zone()))
    }

    #[test]
    fn a_moment_is_read_as_people_write_it() {
        for (text, moment) in [
            ("now", "2026-11-30 14:05:31"),
            ("10m", "2026-11-30 13:55:31"),
            ("2h ago", "2026-11-30 12:05:31"),
            ("14:05", "2026-11-30 14:05:00"),
            ("14:05:30", "2026-11-30 14:05:30"),
            // Later today is not known yet: yesterday's.
            ("14:06", "2026-11-29 14:06:00"),
            ("2026-11-29", "2026-11-29 00:00:00"),
            ("2026-11-29 08:00", "2026-11-29 08:00:00"),
            ("2026-11-29T08:00:01", "2026-11-29 08:00:01"),
            ("2026-11-30T13:00:00Z", "2026-11-30 14:00:00"),
            ("2026-11-30T08:00:00-05:00", "2026-11-30 14:00:00"),
        ] {
            assert_eq!(of(text), Ok(moment.into()), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_or_lies_ahead_is_refused_in_words() {
        for text in ["", "soon", "14", "1405", "25:00", "2026-13-01", "2026-13-01 10:00", "-5m", "0s"] {
            assert_eq!(of(text), Err(BadMoment::Unknown(text.into())));
        }
        for text in ["2026-11-30 14:06", "2026-12-01", "2026-12-01T00:00:00Z"] {
            assert_eq!(of(text), Err(BadMoment::Ahead(text.into())));
        }
        assert_eq!(words(u64::MAX, zone()), "18446744073709551615 ms");
    }

    #[test]
    fn an_hour_that_comes_twice_is_the_first_one_and_one_that_is_left_out_is_the_next() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let of = |text| read(text, NOW_MS, &zone).map(|ms| ms / 60_000 % 1_440);
        // 2026-10-25: 02:30 CEST is 00:30 UTC. 2026-03-29: there was no 02:30; 03:30 CEST is 01:30 UTC.
        assert_eq!((of("2026-10-25 02:30"), of("2026-03-29 02:30")), (Ok(30), Ok(90)));
    }
}
