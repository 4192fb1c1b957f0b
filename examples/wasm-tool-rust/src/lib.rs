//! `text_statistics` counts the lines, words and characters of a text.

mod json;
mod sandgate;

use json::Value;
use sandgate::{log, Definition, ErrorCode, Level, ToolError};

/// The tools of this component.
pub const DEFINITIONS: &[Definition] = &[Definition {
    name: "text_statistics",
    description: "Counts the lines, words and characters of a text",
    input_schema: r#"{
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
        "additionalProperties": false
    }"#,
}];

/// Runs a tool. Returns its output as JSON text.
pub fn call(tool: &str, input: &str) -> Result<String, ToolError> {
    if tool != DEFINITIONS[0].name {
        return Err(failure(ErrorCode::NotFound, "there is no such tool"));
    }
    let input = Value::parse(input);
    match input.as_ref().and_then(|input| input.get("text")).and_then(Value::as_str) {
        Some(text) => Ok(statistics(text)),
        None => Err(failure(ErrorCode::InvalidInput, "the input must be { text: string }, in valid Unicode")),
    }
}

fn statistics(text: &str) -> String {
    let lines = text.lines().count();
    log(Level::Info, &format!("lines: {}", lines));
    let words = text.split_whitespace().count();
    format!(r#"{{"lines":{},"words":{},"characters":{}}}"#, lines, words, text.chars().count())
}

fn failure(code: ErrorCode, message: &str) -> ToolError {
    ToolError { code, message: message.to_string() }
}
