//! From typed rows to Arrow columns.
//!
//! Owns the columns of a type, which its JSON Schema says: names, types, units and descriptions. So
//! a table of no rows has its columns too, and values are those of the JSON: absent numbers are
//! null. A value without a fixed shape, such as the arguments of a call, is JSON text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StructArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use crate::table::{DESCRIPTION, Table, UNIT};

/// Rows of one part of a table: bounds the memory for their JSON.
const AT_ONCE: usize = 16_384;

/// Columns of a type, by its JSON Schema.
pub(crate) fn columns_of<T: JsonSchema>() -> Vec<Field> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    fields(schema.as_value(), &schema.as_value()["$defs"])
}

/// A table of typed rows.
pub(crate) fn table_of<T: Serialize + JsonSchema>(
    rows: impl IntoIterator<Item = T>,
) -> Result<Table, String> {
    let mut building = Building::new(columns_of::<T>());
    for row in rows {
        building.push(serde_json::to_value(row).map_err(|error| error.to_string())?)?;
    }
    building.finish()
}

/// A table whose rows come one by one.
pub(crate) struct Building {
    schema: SchemaRef,
    waiting: Vec<Value>,
    batches: Vec<RecordBatch>,
}

impl Building {
    /// A table of these columns, without rows.
    pub(crate) fn new(columns: Vec<Field>) -> Self {
        let schema = Arc::new(Schema::new(columns));
        Self { schema, waiting: Vec::new(), batches: Vec::new() }
    }

    /// Appends a row, an object with a key for each column; a key that is absent is null.
    pub(crate) fn push(&mut self, row: Value) -> Result<(), String> {
        self.waiting.push(row);
        if self.waiting.len() < AT_ONCE { Ok(()) } else { self.pack() }
    }

    fn pack(&mut self) -> Result<(), String> {
        let rows: Vec<Option<&Value>> = self.waiting.iter().map(Some).collect();
        let columns = children(self.schema.fields(), &rows);
        let batch = columns.and_then(|all| RecordBatch::try_new(Arc::clone(&self.schema), all));
        self.batches.push(batch.map_err(|error| error.to_string())?);
        self.waiting.clear();
        Ok(())
    }

    /// The table.
    pub(crate) fn finish(mut self) -> Result<Table, String> {
        if !self.waiting.is_empty() {
            self.pack()?;
        }
        Ok(Table::new(self.schema, self.batches))
    }
}

/// The columns of an object.
fn fields(object: &Value, definitions: &Value) -> Vec<Field> {
    let properties = object["properties"].as_object().into_iter().flatten();
    properties.map(|(name, schema)| field(name, schema, definitions)).collect()
}

/// A column. Every column may have nulls.
fn field(name: &str, schema: &Value, definitions: &Value) -> Field {
    let mut metadata = HashMap::new();
    let (kind, named) = kind(schema, definitions);
    let unit = match named {
        Some("Nanos") => Some("ns"),
        Some("Bytes") => Some("bytes"),
        _ if name.ends_with("_ns") => Some("ns"),
        _ if name == "share" || name.ends_with("_share") => Some("1"),
        _ if name == "seconds" || name.ends_with("_seconds") => Some("s"),
        _ => None,
    };
    let description = schema["description"].as_str();
    for (key, text) in [(UNIT, unit), (DESCRIPTION, description)] {
        if let Some(text) = text {
            metadata.insert(key.to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    if kind.is_none() {
        metadata.insert("format".to_owned(), "json".to_owned());
    }
    Field::new(name, kind.unwrap_or(DataType::Utf8), true).with_metadata(metadata)
}

/// The type of a value, none where it has no fixed shape, and the name of its definition.
fn kind<'a>(schema: &'a Value, definitions: &'a Value) -> (Option<DataType>, Option<&'a str>) {
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (found, inner) = kind(&definitions[name], definitions);
        return (found, inner.or(Some(name)));
    }
    let is_null = |one: &&Value| one["type"] == "null";
    if let Some(any) = schema["anyOf"].as_array() {
        // `Option` of a named type is that type or null.
        let mut some = any.iter().filter(|one| !is_null(one));
        return match (some.next(), some.next()) {
            (Some(one), None) => kind(one, definitions),
            _ => (None, None),
        };
    }
    if let Some(one) = schema["oneOf"].as_array() {
        let is_word = |one: &Value| one["type"] == "string";
        return (one.iter().all(is_word).then_some(DataType::Utf8), None);
    }
    let word = match &schema["type"] {
        Value::Array(types) => types.iter().find(|one| *one != "null"),
        one => Some(one),
    };
    let format = schema["format"].as_str().unwrap_or_default();
    let found = match (word.and_then(Value::as_str).unwrap_or_default(), format) {
        ("integer", "uint8" | "uint16" | "uint32") => Some(DataType::UInt32),
        ("integer", "uint" | "uint64") => Some(DataType::UInt64),
        ("integer", "int8" | "int16" | "int32") => Some(DataType::Int32),
        ("integer", _) => Some(DataType::Int64),
        ("number", _) => Some(DataType::Float64),
        ("boolean", _) => Some(DataType::Boolean),
        ("string", _) => Some(DataType::Utf8),
        ("array", _) if schema["items"].is_object() => {
            let item = field("item", &schema["items"], definitions);
            Some(DataType::List(Arc::new(item.with_metadata(HashMap::new()))))
        }
        ("object", _) if schema["properties"].is_object() => {
            Some(DataType::Struct(Fields::from(fields(schema, definitions))))
        }
        _ => None,
    };
    // The elements' unit is the list's.
    let items =
        if schema["items"].is_object() { kind(&schema["items"], definitions).1 } else { None };
    (found, items)
}

/// The columns of objects, null where there is none.
fn children(fields: &Fields, rows: &[Option<&Value>]) -> Result<Vec<ArrayRef>, ArrowError> {
    let one = |field: &Arc<Field>| {
        let values: Vec<Option<&Value>> = rows
            .iter()
            .map(|row| row.and_then(|row| row.get(field.name())).filter(|one| !one.is_null()))
            .collect();
        column(field.data_type(), &values)
    };
    fields.iter().map(one).collect()
}

/// A column of values; a value of another kind is null.
fn column(kind: &DataType, values: &[Option<&Value>]) -> Result<ArrayRef, ArrowError> {
    let each = || values.iter().copied();
    Ok(match kind {
        DataType::UInt64 => {
            Arc::new(each().map(|one| one.and_then(Value::as_u64)).collect::<UInt64Array>())
        }
        DataType::UInt32 => {
            let narrow = |one: &Value| u32::try_from(one.as_u64()?).ok();
            Arc::new(each().map(|one| one.and_then(narrow)).collect::<UInt32Array>())
        }
        DataType::Int64 => {
            Arc::new(each().map(|one| one.and_then(Value::as_i64)).collect::<Int64Array>())
        }
        DataType::Int32 => {
            let narrow = |one: &Value| i32::try_from(one.as_i64()?).ok();
            Arc::new(each().map(|one| one.and_then(narrow)).collect::<Int32Array>())
        }
        DataType::Float64 => {
            Arc::new(each().map(|one| one.and_then(Value::as_f64)).collect::<Float64Array>())
        }
        DataType::Boolean => {
            Arc::new(each().map(|one| one.and_then(Value::as_bool)).collect::<BooleanArray>())
        }
        DataType::List(item) => {
            let lists: Vec<Option<&Vec<Value>>> =
                each().map(|one| one.and_then(Value::as_array)).collect();
            let items: Vec<Option<&Value>> = lists
                .iter()
                .flatten()
                .flat_map(|list| list.iter().map(|one| Some(one).filter(|one| !one.is_null())))
                .collect();
            let lengths = lists.iter().map(|list| list.map_or(0, Vec::len));
            let offsets = OffsetBuffer::from_lengths(lengths);
            let nulls = lists.iter().map(Option::is_some).collect::<NullBuffer>();
            let items = column(item.data_type(), &items)?;
            Arc::new(ListArray::try_new(Arc::clone(item), offsets, items, Some(nulls))?)
        }
        DataType::Struct(fields) => {
            let nulls = values.iter().map(Option::is_some).collect::<NullBuffer>();
            let columns = children(fields, values)?;
            Arc::new(StructArray::try_new(fields.clone(), columns, Some(nulls))?)
        }
        _ => {
            let mut texts = StringBuilder::new();
            for one in each() {
                match one {
                    None => texts.append_null(),
                    Some(Value::String(text)) => texts.append_value(text),
                    Some(other) => texts.append_value(other.to_string()),
                }
            }
            Arc::new(texts.finish())
        }
    })
}
