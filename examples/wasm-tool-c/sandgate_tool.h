// The world `sandgate:tool` (wit/tool.wit) in C. Implement `sandgate_definitions` and `sandgate_call`;
// sandgate_tool.c does the rest. Strings are UTF-8 with a length, not null-terminated. Each call runs in a fresh
// instance of the component, so memory never has to be freed.
#ifndef SANDGATE_TOOL_H
#define SANDGATE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *bytes;
  size_t length;
} sandgate_string;

/// Makes a `sandgate_string` from a string literal.
#define SANDGATE_STRING(literal) ((sandgate_string){(literal), sizeof(literal) - 1})

/// The definition of a tool, as a model sees it.
typedef struct {
  sandgate_string name;
  sandgate_string description;
  /// JSON Schema, as JSON text.
  sandgate_string input_schema;
} sandgate_definition;

/// The kind of a failure that a tool reports.
typedef enum {
  SANDGATE_INVALID_INPUT,
  SANDGATE_NOT_FOUND,
  SANDGATE_UNAVAILABLE,
  SANDGATE_INTERNAL,
} sandgate_error_code;

/// The result of a call. Create it with `sandgate_ok` or `sandgate_error`.
typedef struct {
  uint8_t is_error;
  union {
    sandgate_string output;
    struct {
      uint8_t code;
      sandgate_string message;
    } error;
  } value;
} sandgate_result;

/// What a tool receives besides its input.
typedef struct {
  sandgate_string call_id;
  bool has_wall_time;
  /// How many milliseconds the call may still take. Only set if `has_wall_time` is true.
  uint64_t wall_time_ms;
} sandgate_context;

// Implement these.

/// The tools of this component.
extern const sandgate_definition sandgate_definitions[];
extern const size_t sandgate_definition_count;

/// Runs one call. `input` is JSON text that matches the tool's input schema.
sandgate_result sandgate_call(sandgate_string tool, sandgate_string input, const sandgate_context *context);

// Call these.

/// Returns a successful result with an output, as JSON text.
sandgate_result sandgate_ok(sandgate_string json);

/// Returns a failed result. The model reads the message.
sandgate_result sandgate_error(sandgate_error_code code, sandgate_string message);

/// Formats a string like printf.
sandgate_string sandgate_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Returns whether two strings are equal.
bool sandgate_equal(sandgate_string a, sandgate_string b);

typedef enum { SANDGATE_DEBUG, SANDGATE_INFO, SANDGATE_WARN, SANDGATE_ERROR } sandgate_level;

/// Writes a line to the log of the call. Operators read it; the model does not.
void sandgate_log(sandgate_level level, sandgate_string message);

/// Reports the progress of the call, out of a total.
void sandgate_progress(double done, double total);

/// Returns whether the call has exceeded its deadline and is about to be ended.
bool sandgate_cancelled(void);

#endif
