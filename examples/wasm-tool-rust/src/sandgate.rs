//! The canonical ABI of `sandgate:tool/guest` and `sandgate:tool/host` (Sandgate's wit/tool.wit), without dependencies.
//! Each call runs in a fresh instance, so memory is never freed.

use std::alloc::{alloc, handle_alloc_error, realloc, Layout};
use std::slice::from_raw_parts;

/// The definition of a tool, as a model sees it.
pub struct Definition {
    /// 1 to 64 of the characters `A-Z a-z 0-9 _ -`.
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON Schema of the input, as JSON text.
    pub input_schema: &'static str,
}

/// The kind of a failure. Operators see it; the model does not.
#[allow(dead_code)]
#[derive(Clone, Copy)]
pub enum ErrorCode {
    InvalidInput = 0,
    NotFound = 1,
    Unavailable = 2,
    Internal = 3,
}

/// A failure that the tool reports. The model reads `message`.
pub struct ToolError {
    pub code: ErrorCode,
    pub message: String,
}

/// How important a line of the log is.
#[allow(dead_code)]
#[derive(Clone, Copy)]
pub enum Level {
    Debug = 0,
    Info = 1,
    Warn = 2,
    Error = 3,
}

#[link(wasm_import_module = "sandgate:tool/host@0.1.0")]
extern "C" {
    #[link_name = "log"]
    fn host_log(level: u32, message: *const u8, message_bytes: usize);
}

/// Writes a line to the log of the call. Operators read it; the model does not.
pub fn log(level: Level, message: &str) {
    unsafe { host_log(level as u32, message.as_ptr(), message.len()) }
}

/// A string in memory: its address and its length in bytes.
#[repr(C)]
struct RawString(*const u8, usize);

impl RawString {
    fn keep(text: String) -> RawString {
        let kept = Box::leak(text.into_boxed_str());
        RawString(kept.as_ptr(), kept.len())
    }
}

/// `list<definition>`.
#[repr(C)]
struct RawList(*const [RawString; 3], usize);

/// `result<json, tool-error>`. The payload begins at byte 4: the output, or the code and the message.
#[repr(C)]
struct RawResult {
    is_error: u8,
    payload: [usize; 3],
}

#[export_name = "cabi_realloc"]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_bytes: usize, align: usize, bytes: usize) -> *mut u8 {
    if bytes == 0 {
        return align as *mut u8;
    }
    let layout = Layout::from_size_align_unchecked(bytes, align);
    let new = if old_bytes == 0 {
        alloc(layout)
    } else {
        realloc(old, Layout::from_size_align_unchecked(old_bytes, align), bytes)
    };
    if new.is_null() {
        handle_alloc_error(layout);
    }
    new
}

#[export_name = "sandgate:tool/guest@0.1.0#describe"]
extern "C" fn describe() -> *const RawList {
    let all = crate::DEFINITIONS.iter().map(|definition| {
        [definition.name, definition.description, definition.input_schema]
            .map(|text| RawString(text.as_ptr(), text.len()))
    });
    let list = Box::leak(all.collect::<Vec<_>>().into_boxed_slice());
    Box::leak(Box::new(RawList(list.as_ptr(), list.len())))
}

#[export_name = "sandgate:tool/guest@0.1.0#call"]
unsafe extern "C" fn call(
    tool: *const u8,
    tool_bytes: usize,
    input: *const u8,
    input_bytes: usize,
    _call_id: *const u8,
    _call_id_bytes: usize,
    _has_wall_time: u32,
    _wall_time_ms: u64,
) -> *const RawResult {
    let tool = std::str::from_utf8_unchecked(from_raw_parts(tool, tool_bytes));
    let input = std::str::from_utf8_unchecked(from_raw_parts(input, input_bytes));
    let result = match crate::call(tool, input) {
        Ok(json) => {
            let RawString(at, bytes) = RawString::keep(json);
            RawResult { is_error: 0, payload: [at as usize, bytes, 0] }
        }
        Err(ToolError { code, message }) => {
            let RawString(at, bytes) = RawString::keep(message);
            RawResult { is_error: 1, payload: [code as usize, at as usize, bytes] }
        }
    };
    Box::leak(Box::new(result))
}
