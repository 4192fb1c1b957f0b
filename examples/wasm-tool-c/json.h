// The small part of JSON that a tool with flat input needs. For nested input, use a library such as cJSON.
#ifndef JSON_H
#define JSON_H

#include "sandgate_tool.h"

/// Reads a string member of an object. Returns whether it exists.
bool json_string_member(sandgate_string object, const char *name, sandgate_string *value);

#endif
