import { mapOf, thenSchema } from "../../config/shape.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import type { JsonObject } from "../../json/value.ts";
import { NAME_PATTERN } from "../match/name-pattern.ts";
import { WORKSPACE_PATTERN } from "./grant-template.ts";
import { CIDR_PATTERN, ORIGIN_PATTERN } from "./net-grant.ts";

/** The schema of a pattern of tool names. */
export const TOOL_NAMES: JsonObject = {
  type: "string",
  pattern: NAME_PATTERN,
  message:
    "must be a tool name without spaces, in which * matches any number of characters and \\* is a star",
};

/** The most names, origins or files of one grant: what several rules have in common is found by comparing them. */
const MAX_GRANTED = 1_000;

const NAMES = { type: "array", maxItems: MAX_GRANTED, items: { type: "string", minLength: 1 } };

const ORIGIN = {
  type: "string",
  pattern: ORIGIN_PATTERN,
  message: "must be an origin in lower case, such as https://api.example.com",
};

const ADDRESSES = {
  type: "string",
  pattern: CIDR_PATTERN,
  message: "must be a CIDR range, such as 10.0.0.0/8",
};

const POINTER = {
  type: "string",
  pattern: POINTER_PATTERN,
  message: "must be a JSON pointer to an argument, such as '/url'",
};

const WORKSPACE = {
  type: ["boolean", "string"],
  not: { const: false },
  pattern: WORKSPACE_PATTERN,
  message: "must be true, or the path of a directory in the workspace, such as src/generated",
};

/** The text of an origin, a map with one, or a template of one. */
const NET_GRANT = {
  if: { type: "object" },
  ...thenSchema({
    if: { type: "object", required: ["argument"] },
    ...thenSchema(
      mapOf({ argument: POINTER, within: { type: "array", minItems: 1, items: ORIGIN } }, [
        "argument",
        "within",
      ]),
    ),
    else: mapOf({ origin: ORIGIN, addresses: { type: "array", items: ADDRESSES } }, ["origin"]),
  }),
  else: ORIGIN,
};

const MOUNT = {
  at: { type: "string", pattern: "^/", message: "must be an absolute path, such as /data" },
  write: { type: "boolean" },
};

const HOST_PATH = { type: "string", minLength: 1 };

/** A file, or a template of one. */
const FILE_GRANT = {
  if: { type: "object", properties: { file: { type: "object" } } },
  ...thenSchema(
    mapOf({ file: mapOf({ argument: POINTER }, ["argument"]), within: HOST_PATH, ...MOUNT }, [
      "file",
      "within",
    ]),
  ),
  else: mapOf({ file: HOST_PATH, within: HOST_PATH, ...MOUNT }, ["file"]),
};

/** A directory, a file, or a template of one. */
const FS_GRANT = {
  if: { type: "object", required: ["workspace"] },
  ...thenSchema(mapOf({ workspace: WORKSPACE, ...MOUNT }, ["workspace"])),
  else: {
    if: { type: "object", required: ["file"] },
    ...thenSchema(FILE_GRANT),
    else: mapOf({ directory: HOST_PATH, ...MOUNT }, ["directory"]),
  },
};

/** The schema of `RuleCapabilities`. */
export const CAPABILITIES: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    env: NAMES,
    clock: { type: "boolean" },
    random: { type: "boolean" },
    tools: { type: "array", maxItems: MAX_GRANTED, items: TOOL_NAMES },
    fs: { type: "array", maxItems: MAX_GRANTED, items: FS_GRANT },
    net: { type: "array", maxItems: MAX_GRANTED, items: NET_GRANT },
    secrets: NAMES,
    keyValue: NAMES,
    reuse: { const: "instance" },
    engine: { const: "jco" },
    frozenClock: {
      type: "integer",
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
    },
    randomSeed: { type: "string" },
  },
};
