//! Lists of records, such as queues or blobs, printed as a table, as JSON or as CSV.

use std::io::{self, Write};

use serde_json::Value as Json;

use crate::output::{Format, aligned, shown};

/// Prints records that all have the same fields, page by page.
pub struct Records<W: Write> {
    format: Format,
    fields: &'static [&'static str],
    out: W,
    is_first: bool,
}

impl Records<io::BufWriter<io::Stdout>> {
    /// A printer to standard output.
    pub fn new(format: Option<Format>, fields: &'static [&'static str]) -> Self {
        Self::to(Format::or_default(format), fields, io::BufWriter::new(io::stdout()))
    }
}

impl<W: Write> Records<W> {
    /// A printer to any output.
    pub fn to(format: Format, fields: &'static [&'static str], out: W) -> Self {
        Self { format, fields, out, is_first: true }
    }

    /// Prints some records, each with one value per field. A null value is omitted in JSON and empty in other
    /// formats.
    pub fn page(&mut self, records: &[Vec<Json>]) -> io::Result<()> {
        match self.format {
            Format::Table => self.table(records)?,
            Format::Csv => self.csv(records)?,
            Format::Json | Format::Jsonl => {
                for record in records {
                    self.json(record)?;
                }
            }
        }
        self.out.flush()
    }

    /// Prints everything that the format needs at the end.
    pub fn end(mut self) -> io::Result<()> {
        match self.format {
            Format::Csv if self.is_first => self.csv(&[])?,
            Format::Json if self.is_first => self.out.write_all(b"[]\n")?,
            Format::Json => self.out.write_all(b"\n]\n")?,
            Format::Table | Format::Jsonl | Format::Csv => {}
        }
        self.out.flush()
    }

    fn table(&mut self, records: &[Vec<Json>]) -> io::Result<()> {
        let mut rows: Vec<Vec<String>> =
            records.iter().map(|record| record.iter().map(|value| shown(&plain(value))).collect()).collect();
        if !rows.is_empty() && std::mem::take(&mut self.is_first) {
            rows.insert(0, self.fields.iter().map(|&field| field.to_owned()).collect());
        }
        aligned(&rows).iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    fn csv(&mut self, records: &[Vec<Json>]) -> io::Result<()> {
        if std::mem::take(&mut self.is_first) {
            write!(self.out, "{}\r\n", self.fields.join(","))?;
        }
        for record in records {
            let cells: Vec<String> = record.iter().map(|value| quoted(&plain(value))).collect();
            write!(self.out, "{}\r\n", cells.join(","))?;
        }
        Ok(())
    }

    fn json(&mut self, record: &[Json]) -> io::Result<()> {
        // Written by hand, since a map would sort the fields.
        let pairs = self.fields.iter().zip(record).filter(|(_, value)| !value.is_null());
        let members: Vec<String> =
            pairs.map(|(&field, value)| format!("{}:{value}", Json::from(field))).collect();
        let object = format!("{{{}}}", members.join(","));
        if self.format == Format::Json {
            self.out.write_all(if self.is_first { b"[\n " } else { b",\n " })?;
            self.is_first = false;
            return self.out.write_all(object.as_bytes());
        }
        writeln!(self.out, "{object}")
    }
}

/// A value without the quotes of JSON.
fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Object(object) => {
            let pairs: Vec<String> =
                object.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
            pairs.join(" ")
        }
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A string, or null if there is none.
pub fn text(text: &str) -> Json {
    if text.is_empty() { Json::Null } else { text.into() }
}

/// A number in a document, or null if it is not one.
pub fn number(text: &str) -> Json {
    text.parse::<u64>().map_or(Json::Null, Json::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(format: Format, pages: &[Vec<Vec<Json>>]) -> String {
        let mut out = Vec::new();
        let mut records = Records::to(format, &["Name", "Count"], &mut out);
        for page in pages {
            records.page(page).unwrap();
        }
        records.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_format() {
        let pages = vec![vec![vec![json!("a,\"b"), json!(3)]], vec![vec![json!("c"), Json::Null]]];
        assert_eq!(printed(Format::Table, &pages), "Name  Count\na,\"b  3\nc\n");
        assert_eq!(printed(Format::Csv, &pages), "Name,Count\r\n\"a,\"\"b\",3\r\nc,\r\n");
        assert_eq!(printed(Format::Jsonl, &pages), "{\"Name\":\"a,\\\"b\",\"Count\":3}\n{\"Name\":\"c\"}\n");
        assert_eq!(
            printed(Format::Json, &pages),
            "[\n {\"Name\":\"a,\\\"b\",\"Count\":3},\n {\"Name\":\"c\"}\n]\n"
        );
        for (format, nothing) in [
            (Format::Table, ""),
            (Format::Jsonl, ""),
            (Format::Json, "[]\n"),
            (Format::Csv, "Name,Count\r\n"),
        ] {
            assert_eq!(printed(format, &[]), nothing);
        }
    }
}
