// The canonical ABI of `sandgate:tool`, written by hand. On wasm32, the structures of sandgate_tool.h have the same
// memory layout that the component model defines for the types of wit/tool.wit.
#include "sandgate_tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(sandgate_definition) == 24, "a record of three strings");
_Static_assert(sizeof(sandgate_result) == 16, "a result of a string, or of an enum and a string");
_Static_assert(offsetof(sandgate_result, value.error.message) == 8, "an enum takes a byte, and padding");

#define IMPORT(name) __attribute__((import_module("sandgate:tool/host@0.1.0"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("log") void host_log(uint32_t level, const char *message, size_t length);
IMPORT("progress")
void host_progress(double done, uint32_t has_total, double total, uint32_t has_message, const char *message,
                   size_t length);
IMPORT("cancelled") uint32_t host_cancelled(void);

typedef struct {
  const sandgate_definition *items;
  size_t count;
} definition_list;

/// The host calls this to allocate memory for the arguments.
EXPORT("cabi_realloc")
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  (void)old_size;
  if (size == 0) return (void *)align;
  // Memory from realloc is aligned for every type.
  void *block = realloc(old, size);
  if (block == NULL) abort();
  return block;
}

EXPORT("sandgate:tool/guest@0.1.0#describe")
const definition_list *guest_describe(void) {
  static definition_list list;
  list = (definition_list){sandgate_definitions, sandgate_definition_count};
  return &list;
}

EXPORT("sandgate:tool/guest@0.1.0#call")
const sandgate_result *guest_call(const char *tool, size_t tool_length, const char *input, size_t input_length,
                                  const char *call_id, size_t call_id_length, uint32_t has_wall_time,
                                  uint64_t wall_time_ms) {
  static sandgate_result result;
  sandgate_context context = {{call_id, call_id_length}, has_wall_time != 0, wall_time_ms};
  result = sandgate_call((sandgate_string){tool, tool_length}, (sandgate_string){input, input_length}, &context);
  return &result;
}

sandgate_result sandgate_ok(sandgate_string json) {
  sandgate_result result = {.is_error = 0};
  result.value.output = json;
  return result;
}

sandgate_result sandgate_error(sandgate_error_code code, sandgate_string message) {
  sandgate_result result = {.is_error = 1};
  result.value.error.code = (uint8_t)code;
  result.value.error.message = message;
  return result;
}

sandgate_string sandgate_format(const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
  if (bytes == NULL) abort();
  vsnprintf(bytes, (size_t)length + 1, format, again);
  va_end(again);
  va_end(arguments);
  return (sandgate_string){bytes, (size_t)length};
}

bool sandgate_equal(sandgate_string a, sandgate_string b) {
  return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

void sandgate_log(sandgate_level level, sandgate_string message) {
  host_log((uint32_t)level, message.bytes, message.length);
}

void sandgate_progress(double done, double total) { host_progress(done, 1, total, 0, NULL, 0); }

bool sandgate_cancelled(void) { return host_cancelled() != 0; }
