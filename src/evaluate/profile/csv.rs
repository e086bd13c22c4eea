//! The table in Nsight Compute's output: `--csv --page raw`, with whatever stands around it.
//!
//! A record is one line. Lines that begin with `==` are the profiler's own messages, which share
//! a stream with the table unless they go to a file; a program's output may be in between.

use super::number::{Decimal, number, scale};

/// One field of a record; `whole` is false where a quotation mark is missing at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    text: String,
    whole: bool,
}

/// A kernel's row: values by the names of their columns, in base units.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) kernel: String,
    /// The CUDA stream that it ran on, as the profiler names it.
    pub(super) stream: Option<String>,
    pub(super) values: super::metrics::Values,
}

/// The rows of all tables in an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    /// It breaks off in the middle of a row.
    pub(super) broken_off: bool,
}

/// The column that names the kernel, by its header or else by where it has always been.
const KERNEL: &str = "Kernel Name";
const KERNEL_COLUMN: usize = 4;
const STREAM: &str = "Stream";

impl Table {
    pub(super) fn read(text: &str) -> Self {
        let mut table = Self::default();
        let mut header: Option<Vec<String>> = None;
        let mut records: Vec<Vec<Field>> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with("==")) {
            let fields = split(line);
            if is_header(&fields) {
                table.add(header.take(), &std::mem::take(&mut records));
                header = Some(fields.into_iter().map(|field| field.text).collect());
            } else if header.is_some() {
                records.push(fields);
            }
        }
        table.add(header, &records);
        table
    }

    fn add(&mut self, header: Option<Vec<String>>, records: &[Vec<Field>]) {
        let Some(header) = header else { return };
        let fields = records.iter().flatten();
        let decimal = Decimal::of(fields.map(|field| field.text.as_str()));
        let name = header.iter().position(|column| column == KERNEL).unwrap_or(KERNEL_COLUMN);
        let stream = header.iter().position(|column| column == STREAM);
        let mut units: &[Field] = &[];
        for record in records {
            let id = record.first().map_or("", |field| field.text.trim());
            if id.is_empty() && record.len() == header.len() {
                units = record;
            } else if id.parse::<u64>().is_ok() && record.len() > name {
                let cut = record.iter().any(|field| !field.whole) || record.len() < header.len();
                self.broken_off |= cut;
                // The last value of a row that breaks off may lack its last digits.
                let kept = if cut { record.len() - 1 } else { record.len() };
                let columns = header.iter().zip(&record[..kept]).enumerate();
                let values = columns.filter_map(|(index, (column, field))| {
                    let unit = units.get(index).map_or("", |unit| unit.text.as_str());
                    let value = number(&field.text, decimal)?;
                    is_metric(column).then(|| (column.clone(), value * scale(unit)))
                });
                let values = values.collect();
                let stream = stream.and_then(|at| record.get(at)).map(|field| field.text.clone());
                self.rows.push(Row { kernel: record[name].text.clone(), stream, values });
            }
        }
    }
}

fn is_metric(column: &str) -> bool {
    column.contains("__") || column.starts_with("memory_")
}

/// Metrics have names of their own in every language.
fn is_header(fields: &[Field]) -> bool {
    fields.len() > KERNEL_COLUMN
        && fields.iter().any(|field| is_metric(&field.text) && !field.text.contains(' '))
        && fields.first().is_some_and(|field| field.text.parse::<u64>().is_err())
}

/// The fields of a line; a doubled quotation mark stands for one.
fn split(line: &str) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(inner) => quoted(inner),
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Field { text: rest[..end].to_owned(), whole: true }, &rest[end..])
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return fields,
        }
    }
}

/// The text up to the closing mark, and what follows it.
fn quoted(inner: &str) -> (Field, &str) {
    let mut text = String::new();
    let mut rest = inner;
    while let Some(mark) = rest.find('"') {
        text.push_str(&rest[..mark]);
        rest = &rest[mark + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                text.push('"');
                rest = after;
            }
            None => {
                // Whatever stands between the mark and the next comma belongs to no field.
                let next = rest.find(',').unwrap_or(rest.len());
                return (Field { text, whole: true }, &rest[next..]);
            }
        }
    }
    text.push_str(rest);
    (Field { text, whole: false }, "")
}
