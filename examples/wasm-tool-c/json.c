#include "json.h"

#include <stdlib.h>
#include <string.h>

/// The unread part of a text.
typedef struct {
  const char *at;
  const char *end;
} reader;

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_spaces(reader *r) {
  while (r->at < r->end && is_space(*r->at)) r->at++;
}

static bool take(reader *r, char c) {
  skip_spaces(r);
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

/// Reads four hexadecimal digits. Returns -1 if there are none.
static int32_t read_unit(reader *r) {
  if (r->end - r->at < 4) return -1;
  int32_t unit = 0;
  for (int i = 0; i < 4; i++) {
    char c = *r->at++;
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

static char *write_utf8(char *to, uint32_t code) {
  if (code < 0x80) {
    *to++ = (char)code;
    return to;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
  *to++ = (char)(first[more] | code >> (6 * more));
  while (more-- > 0) *to++ = (char)(0x80 | ((code >> (6 * more)) & 0x3f));
  return to;
}

/// Reads `\uXXXX`, or a surrogate pair of them. A lone surrogate becomes U+FFFD.
static char *read_unicode(reader *r, char *to) {
  int32_t unit = read_unit(r);
  if (unit < 0) return NULL;
  if (unit >= 0xd800 && unit < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
    reader second = {r->at + 2, r->end};
    int32_t low = read_unit(&second);
    if (low >= 0xdc00 && low < 0xe000) {
      r->at = second.at;
      return write_utf8(to, 0x10000 + (uint32_t)((unit - 0xd800) * 0x400 + (low - 0xdc00)));
    }
  }
  return write_utf8(to, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : (uint32_t)unit);
}

static bool read_string(reader *r, sandgate_string *value) {
  if (!take(r, '"')) return false;
  // An escape is never shorter than the UTF-8 of its character, so this is enough.
  char *bytes = malloc((size_t)(r->end - r->at) + 1);
  if (bytes == NULL) abort();
  char *to = bytes;
  while (r->at < r->end && *r->at != '"') {
    if (*r->at != '\\') {
      *to++ = *r->at++;
      continue;
    }
    if (++r->at == r->end) return false;
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = *r->at++;
    const char *known = memchr(names, c, sizeof names - 1);
    if (known != NULL) *to++ = values[known - names];
    else if (c != 'u' || (to = read_unicode(r, to)) == NULL) return false;
  }
  *value = (sandgate_string){bytes, (size_t)(to - bytes)};
  return take(r, '"');
}

/// Skips a value of any type, up to the comma or brace that follows it.
static bool skip_value(reader *r) {
  int depth = 0;
  for (skip_spaces(r); r->at < r->end; skip_spaces(r)) {
    char c = *r->at;
    if (depth == 0 && (c == ',' || c == '}')) return true;
    if (c == '"') {
      sandgate_string ignored;
      if (!read_string(r, &ignored)) return false;
      continue;
    }
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    r->at++;
  }
  return false;
}

bool json_string_member(sandgate_string object, const char *name, sandgate_string *value) {
  reader r = {object.bytes, object.bytes + object.length};
  sandgate_string wanted = {name, strlen(name)}, member;
  if (!take(&r, '{')) return false;
  do {
    if (!read_string(&r, &member) || !take(&r, ':')) return false;
    if (sandgate_equal(member, wanted)) return read_string(&r, value);
    if (!skip_value(&r)) return false;
  } while (take(&r, ','));
  return false;
}
