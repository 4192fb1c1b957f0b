import {
  type CompiledShape,
  choice,
  compileShape,
  DURATION,
  described,
  FLAG,
  mapOf,
  TEXT,
  TEXTS,
} from "../../../config/shape.ts";
import {
  anyObject,
  integer,
  list,
  string,
  type Shape as Typed,
  type TypeOf,
  typed,
} from "../../../json/shape.ts";
import type { JsonObject } from "../../../json/value.ts";
import { DIALECTS, type SchemaDialect } from "../../../schema/dialects/type-schema.ts";
import { SIDE_EFFECTS } from "../../../tool/side-effects.ts";
import { FORMER_TRAITS } from "../../../tool/tool-problems.ts";
import type { ToolTraits } from "../../../tool/tool-traits.ts";
import { IMPLEMENTATIONS } from "./implementation-shapes.ts";

/** The name of a trait that is copied from a config as it is. */
type ConfigTrait = Exclude<
  keyof ToolTraits,
  "timeoutMs" | "visibleTo" | "projectChanges" | "preflight" | "modelText" | "reportsWork" | "searchesTools"
>;

const POINTER = described(
  TEXT,
  "A JSON pointer (RFC 6901) into the arguments, such as `/path`. `*` stands for every item: `/files/*`.",
);

/** The traits that a config can declare. Their values are checked when the tool is registered. */
const TRAITS: { readonly [Name in ConfigTrait]-?: Typed<NonNullable<ToolTraits[Name]>> } = {
  sideEffects: described(
    choice(SIDE_EFFECTS),
    "The worst that the tool can do.",
    "destructive",
    "; with `requireSideEffects`, it is required",
  ),
  title: described(TEXT, "A name for people. Default: none."),
  tags: described(TEXTS, "Labels that policies and sessions can match. Default: none."),
  outputSchema: described(
    anyObject(),
    "The JSON Schema of the output. An output that does not match it fails the call. Default: any output.",
  ),
  annotations: described(
    anyObject(),
    "Hints for clients, such as the annotations of an MCP tool. Default: none.",
  ),
  idempotent: described(FLAG, "Whether repeating a call has no further effect.", false),
  maxConcurrent: described(
    integer(),
    "How many calls of the tool a session may run at once. Default: no limit of its own.",
  ),
  confirm: described(
    choice(["auto", "prompt", "always", "plan"]),
    "Whether a session runs the tool without asking (`auto`), or asks a person first (`prompt`), if nothing else decides; `always`: it asks before every call, whatever was remembered; `plan`: likewise, and the call submits a plan. Default: as its side effects say.",
  ),
  paths: described(
    list(
      mapOf(
        {
          argument: POINTER,
          access: described(typed<"read" | "write">(TEXT), "What the tool does there: `read` or `write`."),
        },
        ["argument", "access"],
      ),
    ),
    "The arguments that are paths. A call is refused if one of them leads out of the session's workspace. Default: none.",
  ),
  urls: described(
    list(mapOf({ argument: POINTER }, ["argument"])),
    "The arguments that are URLs. A call is refused unless they are `http:` or `https:` URLs without credentials. Default: none.",
  ),
  usesFiles: described(
    typed<boolean | "staged">({ enum: [true, false, "staged"] }),
    "Whether the host implementation reads and writes files only through `context.files`; it can then be granted `fs`. `staged`: it also changes nothing else, so that sessions can stage its changes.",
    false,
  ),
  requiresCapability: described(
    FLAG,
    "Whether a supervised agent needs the tool among its capabilities to call it.",
    true,
  ),
  logFileAccess: described(
    FLAG,
    "Whether files that the host implementation opens without `context.files` are logged. Default: `true` with `paths` and without `usesFiles`, otherwise `false`.",
  ),
  unhandledErrors: described(
    choice(["message", "redacted"]),
    "What the model reads if the host implementation throws anything but a `ToolFailure`. Default: that of the file.",
  ),
};

/** The names of the traits that are copied from a config as they are. */
export const CONFIG_TRAITS: readonly ConfigTrait[] = Object.keys(TRAITS) as ConfigTrait[];

/** How a tool's arguments are read. Not for a free-form tool, whose input is a text. */
const ARGUMENTS: JsonObject = {
  if: { properties: { freeform: { const: true } }, required: ["freeform"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { properties: { inputSchema: false, dialect: false, nullForOptional: false, coerce: false } },
  else: { required: ["inputSchema"] },
};

const TOOL = mapOf(
  {
    name: described(
      string(),
      "1 to 128 printable characters without white space. Providers that do not accept the name get an alias.",
    ),
    description: described(string(), "What the tool does, for the model."),
    freeform: described(FLAG, "Whether the tool takes one text that is not JSON.", false),
    inputSchema: described(
      typed<JsonObject | string>({ type: ["object", "string"] }),
      "The JSON Schema of the arguments, or the path of its file. Required unless the tool is free-form.",
    ),
    dialect: described(
      choice<SchemaDialect | "auto">(["auto", ...(Object.keys(DIALECTS) as SchemaDialect[])]),
      "The dialect from which `inputSchema` is converted: see docs/schemas.md. Default: it is JSON Schema.",
    ),
    nullForOptional: described(
      choice(["absent", "reject"]),
      "What `null` means for a property that is optional and does not accept it: the property is removed, or the call fails.",
      "absent",
    ),
    coerce: described(
      FLAG,
      "Whether strings are converted to numbers and booleans, and the other way round, where they are exactly their JSON text.",
      false,
    ),
    ...TRAITS,
    timeout: described(
      DURATION,
      "The wall time of a call. A grant can only shorten it. Default: that of `timeouts`.",
    ),
    ...IMPLEMENTATIONS,
  },
  ["name", "description"],
  FORMER_TRAITS,
);

/** The shape of an item of `tools`. */
export const TOOL_SHAPE: CompiledShape = compileShape({ ...ARGUMENTS, ...TOOL });

/** An item of `tools`. Paths are relative to the file. */
export type ToolEntry = TypeOf<typeof TOOL>;
