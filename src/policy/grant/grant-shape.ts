import { described, FLAG, mapOf, thenSchema } from "../../config/shape.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import type { JsonObject } from "../../json/value.ts";
import { NAME_PATTERN } from "../match/name-pattern.ts";
import { WORKSPACE_PATTERN } from "./execution-grant.ts";
import { type LimitName, MAX_WALL_TIME_MS } from "./limits.ts";
import { CIDR_PATTERN, ORIGIN_PATTERN } from "./net-grant.ts";

/** The schema of a limit that counts. */
export const COUNT: JsonObject = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

/** The schemas of limits in code. */
export const LIMITS: Readonly<Record<LimitName, JsonObject>> = {
  wallTimeMs: { ...COUNT, maximum: MAX_WALL_TIME_MS },
  memoryBytes: COUNT,
  outputBytes: COUNT,
  stackBytes: COUNT,
  logLines: COUNT,
  nestedCalls: COUNT,
  fileBytes: COUNT,
  netBytes: COUNT,
  cpuMs: COUNT,
  processes: COUNT,
  processMemoryBytes: COUNT,
  waitTimeMs: { ...COUNT, maximum: MAX_WALL_TIME_MS },
};

/** The schema of a pattern of tool names. */
export const TOOL_NAMES: JsonObject = {
  type: "string",
  pattern: NAME_PATTERN,
  message:
    "must be a tool name without spaces, in which * matches any number of characters and \\* is a star",
};

/**
 * Maximum number of names, origins or files of one grant: what several rules have in common is found by
 * comparing them.
 */
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
  title: "`true` or path",
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
      mapOf(
        {
          argument: described(
            POINTER,
            "The argument that has the URL whose origin is granted. Requires `within`; otherwise, `origin` must be set.",
          ),
          within: described(
            { type: "array", minItems: 1, items: ORIGIN },
            "The origins of which it must be one.",
          ),
        },
        ["argument", "within"],
      ),
    ),
    else: mapOf(
      {
        origin: described(ORIGIN, "An origin, in which `*` stands for any host or port, or any subdomains."),
        addresses: described(
          { type: "array", items: ADDRESSES },
          "Address ranges that its hosts may have although they are not public. Default: none.",
        ),
      },
      ["origin"],
    ),
  }),
  else: ORIGIN,
};

const MOUNT = {
  at: described(
    { type: "string", pattern: "^/", message: "must be an absolute path, such as /data" },
    "The path at which the tool sees it. Default: `/`, and for a file its name after `/`.",
  ),
  write: described(FLAG, "Whether the tool may write there. Default: `false`."),
  writesProtected: described(
    {
      if: { type: "array" },
      ...thenSchema({ type: "array", items: { type: "string", pattern: WORKSPACE_PATTERN } }),
      else: { const: true },
      message: "must be true, or a list of relative paths such as .vscode/settings.json",
    },
    "Which [protected places](../SECURITY.md#protected-places) in it the tool may write, too: paths relative to it, or `true` for all. Default: those that its own path names.",
  ),
};

const HOST_PATH = { type: "string", minLength: 1, title: "path" };

/** A file, or a template of one. */
const FILE_GRANT = {
  if: { type: "object", properties: { file: { type: "object" } } },
  ...thenSchema(
    mapOf(
      {
        file: described(
          mapOf({ argument: described(POINTER, "The argument that has the path.") }, ["argument"]),
          "A file, or the file that an argument names.",
        ),
        within: described(
          HOST_PATH,
          "The directory below which the file must be. Required with an argument.",
        ),
        ...MOUNT,
      },
      ["file", "within"],
    ),
  ),
  else: mapOf(
    {
      file: described(HOST_PATH, "A file, or the file that an argument names."),
      within: described(HOST_PATH, "The directory below which the file must be. Required with an argument."),
      ...MOUNT,
    },
    ["file"],
  ),
};

/** A directory, a file, or a template of one. */
const FS_GRANT = {
  if: { type: "object", required: ["workspace"] },
  ...thenSchema(
    mapOf(
      {
        workspace: described(WORKSPACE, "The session's workspace (`true`), or a directory in it."),
        ...MOUNT,
      },
      ["workspace"],
    ),
  ),
  else: {
    if: { type: "object", required: ["file"] },
    ...thenSchema(FILE_GRANT),
    else: mapOf(
      {
        directory: described(
          HOST_PATH,
          "A directory. Exactly one of `workspace`, `directory` and `file` must be set.",
        ),
        ...MOUNT,
      },
      ["directory"],
    ),
  },
};

/** The schema of `RuleCapabilities`. */
export const CAPABILITIES: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    env: described(NAMES, "Names of environment variables that the tool may read. Default: none."),
    clock: described(FLAG, "Whether the tool may read clocks. Default: `false`."),
    random: described(FLAG, "Whether the tool may draw random bytes. Default: `false`."),
    tools: described(
      { type: "array", maxItems: MAX_GRANTED, items: TOOL_NAMES },
      "Names of tools that the tool may call, in which `*` stands for any characters. Default: none.",
    ),
    fs: described(
      { type: "array", maxItems: MAX_GRANTED, items: FS_GRANT },
      "Directories and files that the tool may access. Default: none.",
    ),
    net: described(
      { type: "array", maxItems: MAX_GRANTED, items: NET_GRANT },
      "Origins to which the tool may send HTTP requests. Default: none.",
    ),
    secrets: described(
      NAMES,
      "Names of the secrets that the tool's requests may carry; it never sees their values. Default: none.",
    ),
    keyValue: described(
      NAMES,
      "Names of the key-value stores that the tool may read and write. Default: none.",
    ),
    reuse: described(
      { const: "instance" },
      "Has calls of a session share one instance of the tool. Default: each call has its own.",
    ),
    engine: described(
      { const: "jco" },
      "Lets a tool that names this engine run in it, which is only for trusted components. Default: Sandgate's own engine.",
    ),
    frozenClock: described(
      {
        type: "integer",
        title: "milliseconds since 1970",
        minimum: Number.MIN_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
      },
      "The constant time of all clocks, for replays. Default: the time.",
    ),
    randomSeed: described(
      { type: "string" },
      "The seed of the tool's random numbers, for replays. Default: random.",
    ),
  },
};
