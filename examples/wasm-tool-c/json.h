// As much of JSON as a tool with flat inputs needs. A tool with nested ones uses a library, such as cJSON.
#ifndef JSON_H
#define JSON_H

#include "sandgate_tool.h"

/// Reads a member of an object that is a string. Tells whether there is one.
bool json_string_member(sandgate_string object, const char *name, sandgate_string *value);

#endif
