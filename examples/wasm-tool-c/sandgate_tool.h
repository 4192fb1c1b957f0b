// The world `sandgate:tool` (wit/tool.wit) in C. Implement `sandgate_definitions` and `sandgate_call`;
// sandgate_tool.c does the rest. Strings are UTF-8, with a length and without a zero at the end. Each call has
// a fresh instance of the component, so nothing ever has to be freed.
#ifndef SANDGATE_TOOL_H
#define SANDGATE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *bytes;
  size_t length;
} sandgate_string;

/// A string literal as a string.
#define SANDGATE_STRING(literal) ((sandgate_string){(literal), sizeof(literal) - 1})

/// What a model is told of a tool.
typedef struct {
  sandgate_string name;
  sandgate_string description;
  /// JSON Schema, as JSON text.
  sandgate_string input_schema;
} sandgate_definition;

/// What kind of failure a tool reports.
typedef enum {
  SANDGATE_INVALID_INPUT,
  SANDGATE_NOT_FOUND,
  SANDGATE_UNAVAILABLE,
  SANDGATE_INTERNAL,
} sandgate_error_code;

/// What a call came to; made by `sandgate_ok` and `sandgate_error`.
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

/// What a tool is told of its call beside the input.
typedef struct {
  sandgate_string call_id;
  bool has_wall_time;
  /// How long the call may take from here, in ms, if it has a limit.
  uint64_t wall_time_ms;
} sandgate_context;

// What you write.

/// The tools of this component.
extern const sandgate_definition sandgate_definitions[];
extern const size_t sandgate_definition_count;

/// Runs one call. `input` is JSON text that fits the tool's input schema.
sandgate_result sandgate_call(sandgate_string tool, sandgate_string input, const sandgate_context *context);

// What you can use.

/// The call succeeded, with JSON text.
sandgate_result sandgate_ok(sandgate_string json);

/// The call failed. The model reads the message.
sandgate_result sandgate_error(sandgate_error_code code, sandgate_string message);

/// A string out of a format, as printf has it.
sandgate_string sandgate_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Whether two strings are the same.
bool sandgate_equal(sandgate_string a, sandgate_string b);

typedef enum { SANDGATE_DEBUG, SANDGATE_INFO, SANDGATE_WARN, SANDGATE_ERROR } sandgate_level;

/// Writes a line into the log of the call. Operators read it; the model does not.
void sandgate_log(sandgate_level level, sandgate_string message);

/// Tells how far the call has come, out of a total.
void sandgate_progress(double done, double total);

/// Whether the call's time is over.
bool sandgate_cancelled(void);

#endif
