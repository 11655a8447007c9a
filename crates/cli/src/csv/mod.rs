//! Tables as CSV (RFC 4180) with types: the header says `Age:Edm.Int64`, and a property that has two types has two columns.
//!
//! A missing property is an empty field; an empty string is a pair of quotes. So entities round-trip exactly.
//! Files of other programs work, too: a column without a type holds strings, and a column `Age@type` contains
//! the types of column `Age`, as in files of Azure Storage Explorer.

use std::io::{self, BufRead, Write};

use lazuli_client::Dynamic;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::{EdmType, Value};

use crate::edm;

/// Larger than any entity as text.
const RECORD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum number of columns. An entity has at most 255 properties, but different entities can have different
/// ones.
pub const COLUMNS_MAX: usize = 10_000;

/// A property of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: EdmType,
}

/// The columns of entities, in the order of first use, without the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(pub Vec<Column>);

impl Columns {
    /// Adds the properties of an entity.
    pub fn take_in(&mut self, entity: &Dynamic) -> Result<(), String> {
        if entity.timestamp.is_some() {
            self.need(TIMESTAMP, EdmType::DateTime)?;
        }
        entity.props.iter().try_for_each(|(name, value)| self.need(name, value.kind()))
    }

    fn need(&mut self, name: &str, kind: EdmType) -> Result<(), String> {
        if self.0.iter().any(|column| column.kind == kind && column.name == name) {
            return Ok(());
        }
        if self.0.len() >= COLUMNS_MAX {
            return Err(format!(
                "there are more than {COLUMNS_MAX} columns: too many for CSV; use JSON Lines"
            ));
        }
        self.0.push(Column { name: name.to_owned(), kind });
        Ok(())
    }
}

/// Writes the first line.
pub fn write_header(out: &mut impl Write, columns: &Columns) -> io::Result<()> {
    write!(out, "{PARTITION_KEY},{ROW_KEY}")?;
    for column in &columns.0 {
        out.write_all(b",")?;
        write_field(out, &format!("{}:{}", column.name, column.kind.name()))?;
    }
    out.write_all(b"\r\n")
}

/// Writes an entity.
pub fn write_entity(out: &mut impl Write, columns: &Columns, entity: &Dynamic) -> io::Result<()> {
    write_field(out, &entity.partition_key)?;
    out.write_all(b",")?;
    write_field(out, &entity.row_key)?;
    for column in &columns.0 {
        out.write_all(b",")?;
        let value = match (column.name.as_str(), entity.timestamp) {
            (TIMESTAMP, time) => time.map(Value::DateTime),
            (name, _) => entity.props.value(name).filter(|value| value.kind() == column.kind).cloned(),
        };
        if let Some(value) = value {
            write_field(out, &edm::text(&value))?;
        }
    }
    out.write_all(b"\r\n")
}

/// A value: in quotes if it needs them, and always if it is empty, since an empty field means no value.
fn write_field(out: &mut impl Write, text: &str) -> io::Result<()> {
    let plain = |c: char| !matches!(c, ',' | '"' | '\r' | '\n');
    if !text.is_empty() && text.chars().all(plain) && text.trim() == text && !text.starts_with('\u{feff}') {
        return out.write_all(text.as_bytes());
    }
    write!(out, "\"{}\"", text.replace('"', "\"\""))
}

/// One field of a record.
#[derive(Debug, PartialEq, Eq)]
struct Field {
    text: String,
    is_quoted: bool,
}

/// Reads entities.
pub struct CsvReader<R> {
    input: R,
    header: Vec<Meaning>,
    /// Bytes read so far, counting complete records only.
    pub offset: u64,
    /// The line in which the next record starts.
    pub line: u64,
    /// The line in which the last record started.
    pub record_line: u64,
}

/// The meaning of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    /// A property of that type.
    Property(String, EdmType),
    /// The type of the property.
    TypeOf(String),
}

impl<R: BufRead> CsvReader<R> {
    /// Reads the first line.
    pub fn new(input: R) -> Result<Self, String> {
        let mut reader = Self { input, header: Vec::new(), offset: 0, line: 1, record_line: 1 };
        let first = reader.record()?.ok_or("the file is empty; the first line must name the columns")?;
        reader.header = first.iter().map(meaning).collect::<Result<_, _>>()?;
        for key in [PARTITION_KEY, ROW_KEY] {
            if !reader.header.contains(&Meaning::Property(key.to_owned(), EdmType::String)) {
                return Err(format!("the first line has no column {key}"));
            }
        }
        Ok(reader)
    }

    /// Resumes where an earlier reader stopped.
    pub fn resume(&mut self, offset: u64, line: u64) {
        (self.offset, self.line) = (offset, line);
    }

    /// The input.
    pub fn input_mut(&mut self) -> &mut R {
        &mut self.input
    }

    /// The next entity.
    pub fn next_entity(&mut self) -> Result<Option<Dynamic>, String> {
        let Some(fields) = self.record()? else { return Ok(None) };
        if fields.len() != self.header.len() {
            return Err(format!("{} fields, but {} columns", fields.len(), self.header.len()));
        }
        let mut entity = Dynamic::default();
        for (meaning, field) in self.header.iter().zip(&fields) {
            let Meaning::Property(name, kind) = meaning else { continue };
            let is_key = name == PARTITION_KEY || name == ROW_KEY;
            if field.text.is_empty() && !field.is_quoted && !is_key {
                continue;
            }
            let kind = self.kind_in_row(name, &fields)?.unwrap_or(*kind);
            edm::set(
                &mut entity,
                name,
                edm::parse(kind, &field.text).map_err(|why| format!("{name}: {why}"))?,
            )?;
        }
        Ok(Some(entity))
    }

    /// The type specified by a column `Name@type`.
    fn kind_in_row(&self, name: &str, fields: &[Field]) -> Result<Option<EdmType>, String> {
        let at = self.header.iter().position(|meaning| matches!(meaning, Meaning::TypeOf(of) if of == name));
        match at.and_then(|at| fields.get(at)).map(|field| field.text.as_str()) {
            None | Some("" | "Null") => Ok(None),
            Some(text) => edm::kind(text).map(Some).ok_or_else(|| format!("unknown type '{text}'")),
        }
    }

    /// The next record: fields up to the end of a line that is not between quotes.
    fn record(&mut self) -> Result<Option<Vec<Field>>, String> {
        self.record_line = self.line;
        let mut bytes = Vec::new();
        let mut lines = 0;
        loop {
            let before = bytes.len();
            let limit = (RECORD_BYTES_MAX - before) as u64 + 1;
            let read = io::Read::take(&mut self.input, limit).read_until(b'\n', &mut bytes);
            let read = read.map_err(|error| error.to_string())?;
            if bytes.len() > RECORD_BYTES_MAX {
                return Err("a record is too long; is a quote missing?".into());
            }
            lines += 1;
            let open = bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            if read == 0 {
                if open {
                    return Err("the file ends inside quotes".into());
                }
                if bytes.is_empty() {
                    return Ok(None);
                }
                break;
            }
            if !open {
                break;
            }
        }
        let length = bytes.len() as u64;
        let text = String::from_utf8(bytes).map_err(|_| "this is not UTF-8")?;
        let text = if self.offset == 0 { text.strip_prefix('\u{feff}').unwrap_or(&text) } else { &text };
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let fields = if text.is_empty() { None } else { Some(fields(text)?) };
        self.offset += length;
        self.line += lines;
        match fields {
            Some(fields) => Ok(Some(fields)),
            // Empty lines are skipped.
            None => self.record(),
        }
    }
}

fn meaning(field: &Field) -> Result<Meaning, String> {
    if let Some(name) = field.text.strip_suffix("@type") {
        return Ok(Meaning::TypeOf(name.to_owned()));
    }
    match field.text.rsplit_once(':') {
        None if field.text == TIMESTAMP => Ok(Meaning::Property(field.text.clone(), EdmType::DateTime)),
        None => Ok(Meaning::Property(field.text.clone(), EdmType::String)),
        Some((name, given)) => match edm::kind(given) {
            Some(kind) => Ok(Meaning::Property(name.to_owned(), kind)),
            None => Err(format!("column '{}': '{given}' is not a type such as Edm.Int64", field.text)),
        },
    }
}

fn fields(text: &str) -> Result<Vec<Field>, String> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        let (field, behind) = field(rest)?;
        list.push(field);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Ok(list),
            None => return Err("there is text after a closing quote".into()),
        }
    }
}

/// One field, and the rest of the text after it.
fn field(text: &str) -> Result<(Field, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(',').unwrap_or(text.len());
        return Ok((Field { text: text[..end].to_owned(), is_quoted: false }, &text[end..]));
    };
    let mut content = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"').ok_or("a quote is not closed")?;
        content.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                content.push('"');
                rest = next;
            }
            None => return Ok((Field { text: content, is_quoted: true }, rest)),
        }
    }
}

#[cfg(test)]
mod tests;
