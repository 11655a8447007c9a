//! Prints entities: as aligned columns on a terminal, as JSON Lines elsewhere, or in another format on demand.

use std::io::{self, IsTerminal as _, Write};

use clap::ValueEnum;
use lazuli_client::Dynamic;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};

use crate::csv::{self, Columns};
use crate::edm;
use crate::fault::Fault;

/// Maximum width of a column, in characters.
const WIDTH_MAX: usize = 40;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns
    Table,
    /// One JSON array
    Json,
    /// One JSON object per line
    Jsonl,
    /// CSV with types in the first line
    Csv,
}

impl Format {
    /// The requested format; by default, a table on a terminal and JSON Lines elsewhere.
    pub fn or_default(asked: Option<Format>) -> Self {
        let default = if io::stdout().is_terminal() { Format::Table } else { Format::Jsonl };
        asked.unwrap_or(default)
    }
}

/// Prints entities page by page, and holds one page in memory. The first line of CSV depends on all entities, so CSV is spooled
/// to a temporary file.
pub struct Printer<W: Write> {
    format: Format,
    out: W,
    is_first: bool,
    columns: Vec<String>,
    spool: Option<Spool>,
}

struct Spool {
    file: std::fs::File,
    columns: Columns,
}

impl<W: Write> Printer<W> {
    /// A printer to `out`.
    pub fn new(format: Format, out: W) -> Self {
        Self { format, out, is_first: true, columns: Vec::new(), spool: None }
    }

    /// Prints a page of entities.
    pub fn page(&mut self, entities: &[Dynamic]) -> Result<(), Fault> {
        match self.format {
            Format::Table => self.table(entities)?,
            Format::Json => {
                for entity in entities {
                    self.out.write_all(if self.is_first { b"[\n " } else { b",\n " })?;
                    self.is_first = false;
                    self.out.write_all(&edm::to_line(entity))?;
                }
            }
            Format::Jsonl => write_lines(&mut self.out, entities)?,
            Format::Csv => self.spool(entities)?,
        }
        Ok(self.out.flush()?)
    }

    /// Prints everything that the format needs at the end.
    pub fn end(mut self) -> Result<(), Fault> {
        match self.format {
            Format::Table | Format::Jsonl => {}
            Format::Json if self.is_first => self.out.write_all(b"[]\n")?,
            Format::Json => self.out.write_all(b"\n]\n")?,
            Format::Csv => match self.spool.take() {
                Some(Spool { mut file, columns }) => {
                    io::Seek::rewind(&mut file)?;
                    lines_to_csv(io::BufReader::new(file), &columns, &mut self.out)?;
                }
                None => csv::write_header(&mut self.out, &Columns::default())?,
            },
        }
        Ok(self.out.flush()?)
    }

    fn table(&mut self, entities: &[Dynamic]) -> io::Result<()> {
        if entities.is_empty() {
            return Ok(());
        }
        let columns = names(entities);
        let mut rows: Vec<Vec<String>> = entities.iter().map(|entity| cells(entity, &columns)).collect();
        if self.columns != columns {
            rows.insert(0, columns.clone());
            if !std::mem::take(&mut self.is_first) {
                writeln!(self.out)?;
            }
            self.columns = columns;
        }
        for line in aligned(&rows) {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    fn spool(&mut self, entities: &[Dynamic]) -> Result<(), Fault> {
        if self.spool.is_none() {
            self.spool = Some(Spool { file: tempfile::tempfile()?, columns: Columns::default() });
        }
        let Some(spool) = &mut self.spool else { return Ok(()) };
        for entity in entities {
            spool.columns.take_in(entity)?;
        }
        Ok(write_lines(&mut io::BufWriter::new(&mut spool.file), entities)?)
    }
}

/// Writes entities as JSON Lines.
pub fn write_lines(out: &mut impl Write, entities: &[Dynamic]) -> io::Result<()> {
    for entity in entities {
        out.write_all(&edm::to_line(entity))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Converts JSON Lines to CSV.
pub fn lines_to_csv(lines: impl io::BufRead, columns: &Columns, out: &mut impl Write) -> Result<(), Fault> {
    csv::write_header(out, columns)?;
    for line in lines.split(b'\n') {
        let line = line?;
        csv::write_entity(out, columns, &edm::from_line(&line)?)?;
    }
    Ok(out.flush()?)
}

/// The columns of some entities: keys first, the Timestamp last.
fn names(entities: &[Dynamic]) -> Vec<String> {
    let mut names = vec![PARTITION_KEY.to_owned(), ROW_KEY.to_owned()];
    for (name, _) in entities.iter().flat_map(|entity| &entity.props) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if entities.iter().any(|entity| entity.timestamp.is_some()) {
        names.push(TIMESTAMP.to_owned());
    }
    names
}

fn cells(entity: &Dynamic, columns: &[String]) -> Vec<String> {
    let value = |name: &String| match name.as_str() {
        PARTITION_KEY => entity.partition_key.clone(),
        ROW_KEY => entity.row_key.clone(),
        TIMESTAMP => entity.timestamp.map(|time| time.iso().as_str().to_owned()).unwrap_or_default(),
        name => entity.props.value(name).map(edm::text).unwrap_or_default(),
    };
    columns.iter().map(|name| shown(&value(name))).collect()
}

/// Escapes control characters and shortens long strings, so that a value stays on its line and cannot control
/// the terminal.
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count >= WIDTH_MAX {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Aligns columns.
pub fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..count)
        .map(|at| {
            rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: Format, pages: &[&[Dynamic]]) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(format, &mut out);
        for page in pages {
            assert!(printer.page(page).is_ok());
        }
        assert!(printer.end().is_ok());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_format() {
        let ada = Dynamic::new("a", "1").with("Name", "Ada\n").unwrap().with("Age", 36_i64).unwrap();
        let alan = Dynamic::new("alan", "2").with("Name", "").unwrap();
        let pages: &[&[Dynamic]] = &[std::slice::from_ref(&ada), std::slice::from_ref(&alan)];
        assert_eq!(
            printed(Format::Table, &[&[ada.clone(), alan.clone()]]),
            "PartitionKey  RowKey  Name   Age\na             1       Ada\\n  36\nalan          2\n"
        );
        let first =
            r#"{"PartitionKey":"a","RowKey":"1","Name":"Ada\n","Age@odata.type":"Edm.Int64","Age":"36"}"#;
        let second = r#"{"PartitionKey":"alan","RowKey":"2","Name":""}"#;
        assert_eq!(printed(Format::Jsonl, pages), format!("{first}\n{second}\n"));
        assert_eq!(printed(Format::Json, pages), format!("[\n {first},\n {second}\n]\n"));
        assert_eq!(
            printed(Format::Csv, pages),
            "PartitionKey,RowKey,Name:Edm.String,Age:Edm.Int64\r\na,1,\"Ada\n\",36\r\nalan,2,\"\",\r\n"
        );
        for (format, nothing) in [
            (Format::Table, ""),
            (Format::Jsonl, ""),
            (Format::Json, "[]\n"),
            (Format::Csv, "PartitionKey,RowKey\r\n"),
        ] {
            assert_eq!(printed(format, &[]), nothing);
        }
    }

    #[test]
    fn texts_do_nothing_to_the_terminal() {
        assert_eq!(shown("a\u{1b}[31m\tb"), "a\\u{1b}[31m\\tb");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), WIDTH_MAX + 1);
    }
}
