//! A small JSON (RFC 8259) reader and writer. For more, add a crate such as serde_json to Cargo.toml.

use std::iter::Peekable;
use std::str::Chars;

/// How deeply values can be nested.
const MAX_DEPTH: usize = 100;

/// A JSON value.
#[derive(Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads a JSON text. Returns `None` if it is not one.
    pub fn parse(text: &str) -> Option<Value> {
        let mut reader = Reader { chars: text.chars().peekable() };
        let value = reader.value(0)?;
        reader.skip_spaces();
        reader.chars.next().is_none().then(|| value)
    }

    /// Returns a member of an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns a text as a JSON string.
#[allow(dead_code)]
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn skip_spaces(&mut self) {
        while self.chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        self.skip_spaces();
        self.chars.next_if_eq(&wanted).map(|_| ())
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        word.chars().all(|c| self.chars.next() == Some(c)).then(|| value)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_spaces();
        match self.chars.peek()? {
            'n' => self.word("null", Value::Null),
            't' => self.word("true", Value::Bool(true)),
            'f' => self.word("false", Value::Bool(false)),
            '"' => self.string().map(Value::String),
            '[' => self.array(depth),
            '{' => self.object(depth),
            _ => self.number(),
        }
    }

    /// The host sends valid JSON, so that what Rust parses as a number is one.
    fn number(&mut self) -> Option<Value> {
        let mut text = String::new();
        while let Some(c) = self.chars.next_if(|c| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')) {
            text.push(c);
        }
        text.parse().ok().map(Value::Number)
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.take('[')?;
        let mut items = Vec::new();
        if self.take(']').is_some() {
            return Some(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(',').is_none() {
                return self.take(']').map(|_| Value::Array(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take('{')?;
        let mut members = Vec::new();
        if self.take('}').is_some() {
            return Some(Value::Object(members));
        }
        loop {
            let name = self.string()?;
            self.take(':')?;
            members.push((name, self.value(depth + 1)?));
            if self.take(',').is_none() {
                return self.take('}').map(|_| Value::Object(members));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            match self.chars.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                c if c < ' ' => return None,
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            c @ ('"' | '\\' | '/') => c,
            _ => return None,
        })
    }

    /// Reads `XXXX`, or a surrogate pair of them. A lone surrogate is not a character.
    fn unicode(&mut self) -> Option<char> {
        let unit = self.hex()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit);
        }
        let low = (self.chars.next()? == '\\' && self.chars.next()? == 'u').then(|| self.hex())??;
        (0xdc00..0xe000).contains(&low).then(|| 0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00)).and_then(char::from_u32)
    }

    fn hex(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit * 16 + self.chars.next()?.to_digit(16)?))
    }
}
