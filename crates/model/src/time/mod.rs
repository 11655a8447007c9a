//! Points in time as the service counts them: 100 ns ticks since the year 1, in UTC.
//!
//! No library is used, because ticks, trimmed fractions and the accepted formats are part of the protocol, and
//! because two times are printed for every row in a response.

mod system;

use std::fmt;

use crate::text::Text;

/// Ticks in a second.
pub const TICKS_PER_SECOND: u64 = 10_000_000;
const TICKS_PER_DAY: u64 = 86_400 * TICKS_PER_SECOND;
/// Ticks of 1970-01-01.
const UNIX_EPOCH_TICKS: u64 = 719_162 * TICKS_PER_DAY;

/// A point in time: 100 ns ticks since 0001-01-01T00:00:00Z.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use std::time::SystemTime;
///
/// use lazuli_client::DateTime;
///
/// let now = DateTime::from(SystemTime::now());
/// let launch = DateTime::parse("2008-10-27T09:00:00Z").unwrap();
/// assert!(launch < now);
/// assert_eq!(launch.to_string(), "2008-10-27T09:00:00Z");
/// let later = DateTime::from_ticks(launch.ticks() + 1).unwrap();
/// assert_eq!(later.to_string(), "2008-10-27T09:00:00.0000001Z");
/// assert_eq!(DateTime::from(SystemTime::UNIX_EPOCH).to_string(), "1970-01-01T00:00:00Z");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(u64);

impl DateTime {
    /// 0001-01-01.
    pub const MIN: DateTime = DateTime(0);
    /// 9999-12-31T23:59:59.9999999Z.
    pub const MAX: DateTime = DateTime(3_155_378_975_999_999_999);
    /// 1601-01-01, the earliest value that a property can hold.
    pub const STORABLE_MIN: DateTime = DateTime(504_911_232_000_000_000);

    /// From ticks since the year 1, if that is before the year 10000.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// assert_eq!(DateTime::from_ticks(0), Some(DateTime::MIN));
    /// assert_eq!(DateTime::from_ticks(DateTime::MAX.ticks() + 1), None);
    /// ```
    pub fn from_ticks(ticks: u64) -> Option<Self> {
        (ticks <= Self::MAX.0).then_some(Self(ticks))
    }

    /// Ticks since the year 1.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// // 100 ns each, as .NET counts: a second is ten million of them.
    /// let [first, second] = ["2024-02-29T12:00:00Z", "2024-02-29T12:00:01Z"].map(|text| DateTime::parse(text).unwrap());
    /// assert_eq!(second.ticks() - first.ticks(), 10_000_000);
    /// ```
    pub fn ticks(self) -> u64 {
        self.0
    }

    /// From the time that has passed since 1970; times after the year 9999 are limited to it.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use std::time::Duration;
    ///
    /// use lazuli_client::DateTime;
    ///
    /// assert_eq!(DateTime::from_unix(Duration::from_millis(86_400_500)).to_string(), "1970-01-02T00:00:00.5Z");
    /// assert_eq!(DateTime::from_unix(Duration::MAX), DateTime::MAX);
    /// ```
    pub fn from_unix(since_epoch: std::time::Duration) -> Self {
        let ticks = since_epoch.as_nanos() / 100 + u128::from(UNIX_EPOCH_TICKS);
        Self(u64::try_from(ticks).unwrap_or(u64::MAX).min(Self::MAX.0))
    }

    /// Seconds since 1970, negative before.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// assert_eq!(DateTime::parse("1970-01-02").unwrap().unix_seconds(), 86_400);
    /// assert_eq!(DateTime::parse("1969-12-31").unwrap().unix_seconds(), -86_400);
    /// ```
    pub fn unix_seconds(self) -> i64 {
        (self.0 / TICKS_PER_SECOND).cast_signed() - (UNIX_EPOCH_TICKS / TICKS_PER_SECOND).cast_signed()
    }

    /// Parses the ISO formats that the service accepts: a date, or a date and time to the minute, second or
    /// fraction, with `Z`, an offset, or nothing (which means UTC). Digits beyond the seventh are dropped.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// let noon = DateTime::parse("2024-02-29T12:00:00Z");
    /// assert!(noon.is_some());
    /// assert_eq!(DateTime::parse("2024-02-29T12:00"), noon);
    /// assert_eq!(DateTime::parse("2024-02-29T14:00:00+02:00"), noon);
    /// assert_eq!(DateTime::parse("2023-02-29"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let mut input = Input(text.trim().as_bytes());
        let year = input.number(4)?;
        input.byte(b'-')?;
        let month = input.number(2)?;
        input.byte(b'-')?;
        let day = input.number(2)?;
        let date = ticks_of_date(year, month, day)?;
        let mut time = 0;
        if input.byte(b'T').or_else(|| input.byte(b't')).or_else(|| input.byte(b' ')).is_some() {
            time = input.time_of_day()?;
        }
        let offset = input.offset_ticks()?;
        if !input.0.is_empty() {
            return None;
        }
        let local = (date + time).cast_signed();
        u64::try_from(local - offset).ok().and_then(Self::from_ticks)
    }

    /// Parses an HTTP date: `Mon, 27 Jun 2022 20:11:08 GMT`.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// let time = DateTime::parse_http("Mon, 27 Jun 2022 20:11:08 GMT").unwrap();
    /// assert_eq!(time.to_string(), "2022-06-27T20:11:08Z");
    /// ```
    pub fn parse_http(text: &str) -> Option<Self> {
        let mut input = Input(text.trim().as_bytes());
        let comma = input.0.iter().position(|&b| b == b',')?;
        input.0 = &input.0[comma + 1..];
        input.byte(b' ')?;
        let day = input.number(2).or_else(|| input.number(1))?;
        input.byte(b' ').or_else(|| input.byte(b'-'))?;
        let month =
            MONTHS.iter().position(|m| input.0.get(..3).is_some_and(|t| t.eq_ignore_ascii_case(*m)))?;
        input.0 = &input.0[3..];
        input.byte(b' ').or_else(|| input.byte(b'-'))?;
        let year = input.number(4)?;
        input.byte(b' ')?;
        let time = input.time_of_day()?;
        let zone_is_utc = [b" GMT".as_slice(), b" UTC", b" +0000"].contains(&input.0);
        let date = ticks_of_date(year, u64::try_from(month).ok()? + 1, day)?;
        zone_is_utc.then_some(Self(date + time))
    }

    /// The calendar fields of this time.
    fn fields(self) -> Fields {
        let (year, month, day) = civil_from_days(self.0 / TICKS_PER_DAY);
        let second_of_day = self.0 % TICKS_PER_DAY / TICKS_PER_SECOND;
        Fields {
            year,
            month,
            day,
            hour: second_of_day / 3600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
        }
    }

    /// The format of bodies: `2022-05-06T00:44:26.8056386Z`, the fraction without trailing zeros, none if zero.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// let time = DateTime::parse("2022-05-06T00:44:26.8056000Z").unwrap();
    /// assert_eq!(time.iso().as_str(), "2022-05-06T00:44:26.8056Z");
    /// ```
    pub fn iso(self) -> Text {
        let mut text = self.to_the_second();
        let mut fraction = self.0 % TICKS_PER_SECOND;
        if fraction > 0 {
            let mut digits = 7;
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                digits -= 1;
            }
            text.push(b'.');
            text.push_number(fraction, digits);
        }
        text.push(b'Z');
        text
    }

    /// The format of error messages and access policies: always with seven fractional digits.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// assert_eq!(DateTime::parse("2022-05-06").unwrap().iso_seven_digits().as_str(), "2022-05-06T00:00:00.0000000Z");
    /// ```
    pub fn iso_seven_digits(self) -> Text {
        let mut text = self.to_the_second();
        text.push(b'.');
        text.push_number(self.0 % TICKS_PER_SECOND, 7);
        text.push(b'Z');
        text
    }

    /// The format of Atom's `updated`: no fraction.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// assert_eq!(DateTime::parse("2022-05-06T01:02:03.9Z").unwrap().iso_seconds().as_str(), "2022-05-06T01:02:03Z");
    /// ```
    pub fn iso_seconds(self) -> Text {
        let mut text = self.to_the_second();
        text.push(b'Z');
        text
    }

    /// The format of HTTP headers: `Mon, 27 Jun 2022 20:11:08 GMT`.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::DateTime;
    ///
    /// assert_eq!(DateTime::parse("2022-06-27T20:11:08Z").unwrap().http().as_str(), "Mon, 27 Jun 2022 20:11:08 GMT");
    /// ```
    pub fn http(self) -> Text {
        const DAYS: [&[u8; 3]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
        let f = self.fields();
        let mut text = Text::default();
        // 0001-01-01 was a Monday.
        text.extend(DAYS[usize::try_from(self.0 / TICKS_PER_DAY % 7).unwrap_or(0)]);
        text.extend(b", ");
        text.push_number(f.day, 2);
        text.push(b' ');
        text.extend(MONTHS[usize::try_from(f.month - 1).unwrap_or(0)]);
        text.push(b' ');
        text.push_number(f.year, 4);
        text.push(b' ');
        push_clock(&mut text, &f);
        text.extend(b" GMT");
        text
    }

    fn to_the_second(self) -> Text {
        let f = self.fields();
        let mut text = Text::default();
        text.push_number(f.year, 4);
        text.push(b'-');
        text.push_number(f.month, 2);
        text.push(b'-');
        text.push_number(f.day, 2);
        text.push(b'T');
        push_clock(&mut text, &f);
        text
    }
}

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

struct Fields {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.iso().as_str())
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn push_clock(text: &mut Text, f: &Fields) {
    text.push_number(f.hour, 2);
    text.push(b':');
    text.push_number(f.minute, 2);
    text.push(b':');
    text.push_number(f.second, 2);
}

/// The rest of a string that is being parsed.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self, expected: u8) -> Option<()> {
        let (&first, rest) = self.0.split_first()?;
        (first == expected).then(|| self.0 = rest)
    }

    fn number(&mut self, digits: usize) -> Option<u64> {
        let text = self.0.get(..digits)?;
        if !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = &self.0[digits..];
        Some(text.iter().fold(0, |sum, &b| sum * 10 + u64::from(b - b'0')))
    }

    fn time_of_day(&mut self) -> Option<u64> {
        let hour = self.number(2)?;
        self.byte(b':')?;
        let minute = self.number(2)?;
        let mut second = 0;
        let mut fraction = 0;
        if self.byte(b':').is_some() {
            second = self.number(2)?;
            if self.byte(b'.').is_some() {
                fraction = self.fraction()?;
            }
        }
        (hour < 24 && minute < 60 && second < 60)
            .then(|| ((hour * 60 + minute) * 60 + second) * TICKS_PER_SECOND + fraction)
    }

    fn fraction(&mut self) -> Option<u64> {
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (text, rest) = self.0.split_at(digits);
        self.0 = rest;
        let ticks = text.iter().take(7).fold(0, |sum, &b| sum * 10 + u64::from(b - b'0'));
        (digits > 0).then(|| ticks * 10_u64.pow(7 - u32::try_from(digits.min(7)).unwrap_or(7)))
    }

    fn offset_ticks(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.byte(b'Z').or_else(|| self.byte(b'z')).is_some() {
            return Some(0);
        }
        let sign = if self.byte(b'+').is_some() { 1 } else { self.byte(b'-').map(|()| -1)? };
        let hours = self.number(2)?;
        self.byte(b':')?;
        let minutes = self.number(2)?;
        (hours <= 14 && minutes < 60)
            .then(|| sign * ((hours * 60 + minutes) * 60 * TICKS_PER_SECOND).cast_signed())
    }
}

fn ticks_of_date(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days_in_month = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    ((1..=9999).contains(&year) && (1..=days_in_month).contains(&day))
        .then(|| days_from_civil(year, month, day) * TICKS_PER_DAY)
}

/// Days since 0001-01-01. Years are counted from March, so that the leap day is the last day of the year.
fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 306
}

fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 306;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests;
