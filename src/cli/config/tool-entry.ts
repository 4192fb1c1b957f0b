import { type CompiledShape, compileShape, mapOf, TEXT } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import { DIALECTS, type SchemaDialect } from "../../schema/dialects/type-names.ts";
import type { MicrovmImplementation } from "../../tool/implementations/microvm-implementation.ts";
import type {
  ArgumentReference,
  ProcessImplementation,
} from "../../tool/implementations/process-implementation.ts";
import type { RemoteImplementation } from "../../tool/implementations/remote-implementation.ts";
import type { WasmImplementation } from "../../tool/implementations/wasm-implementation.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";
import type { ToolTraits } from "../../tool/tool-traits.ts";

/** The schema of a tool's `remote.http`. Its templates are checked when the tool is registered. */
export const HTTP: JsonObject = mapOf(
  {
    method: TEXT,
    url: TEXT,
    headers: { type: "object", additionalProperties: { type: "string" } },
    body: {},
    response: mapOf({ pointer: { type: "string" }, text: { type: "boolean" }, bigNumbers: TEXT }),
    maxRedirects: { type: "integer" },
  },
  ["url"],
);

/** The schema of a reference to an argument. Its pointer is checked when the tool is registered. */
const REFERENCE: JsonObject = mapOf({ argument: { type: "string" } }, ["argument"]);
const TEXT_OR_REFERENCE: JsonObject = {
  anyOf: [{ type: "string" }, REFERENCE],
  message: "must be a text or { argument: pointer }",
};

/** The schema of a tool's `process`. */
const PROCESS: JsonObject = mapOf(
  {
    command: TEXT,
    args: { type: "array", items: TEXT_OR_REFERENCE },
    input: {
      anyOf: [{ enum: ["json", "none"] }, REFERENCE],
      message: "must be json, none or { argument: pointer }",
    },
    output: { enum: ["json", "text", "completion"] },
    failOnExit: { type: "boolean" },
    env: { type: "object", additionalProperties: { type: "string" } },
    cwd: TEXT_OR_REFERENCE,
    keptShell: mapOf({ when: REFERENCE, command: REFERENCE }, ["when", "command"]),
    killGrace: { type: ["string", "number"] },
    reportsChanges: { type: "boolean" },
  },
  ["command"],
);

/** The schema of a tool's `remote.executor`. */
const EXECUTOR: JsonObject = {
  anyOf: [TEXT, { type: "array", items: TEXT, minItems: 1 }],
  message: "must be an address or a list of addresses",
};

/** The traits that a config can declare. Their values are checked when the tool is registered. */
const TRAITS: Record<ConfigTrait, JsonObject> = {
  sideEffects: { type: "string", enum: SIDE_EFFECTS },
  title: TEXT,
  tags: { type: "array", items: TEXT },
  outputSchema: { type: "object" },
  annotations: { type: "object" },
  idempotent: { type: "boolean" },
  maxConcurrent: { type: "integer" },
  confirm: { type: "string", enum: ["auto", "prompt"] },
  alwaysConfirm: { type: "boolean" },
  submitsPlan: { type: "boolean" },
  paths: { type: "array", items: mapOf({ argument: TEXT, access: TEXT }, ["argument", "access"]) },
  urls: { type: "array", items: mapOf({ argument: TEXT }, ["argument"]) },
  usesFiles: { type: "boolean" },
  writesThroughFiles: { type: "boolean" },
  requiresCapability: { type: "boolean" },
  logFileAccess: { type: "boolean" },
  unhandledErrors: { type: "string", enum: ["message", "redacted"] },
};

/** The names of the traits that are copied from a config as they are. */
export const CONFIG_TRAITS: readonly ConfigTrait[] = Object.keys(TRAITS) as ConfigTrait[];

type ConfigTrait = Exclude<keyof ToolTraits, "timeoutMs" | "visibleTo" | "projectChanges">;

/** What decides how a tool's arguments are read. A free-form tool, whose input is a text, has none of it. */
const ARGUMENTS: JsonObject = {
  if: { properties: { freeform: { const: true } }, required: ["freeform"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { properties: { inputSchema: false, dialect: false, nullForOptional: false, coerce: false } },
  else: { required: ["inputSchema"] },
};

/** The shape of an item of `tools`. */
export const TOOL_SHAPE: CompiledShape = compileShape({
  ...ARGUMENTS,
  ...mapOf(
    {
      name: { type: "string" },
      description: { type: "string" },
      freeform: { type: "boolean" },
      inputSchema: { type: ["object", "string"] },
      dialect: { type: "string", enum: ["auto", ...Object.keys(DIALECTS)] },
      nullForOptional: { type: "string", enum: ["absent", "reject"] },
      coerce: { type: "boolean" },
      ...TRAITS,
      timeout: { type: ["string", "number"] },
      host: mapOf({ module: TEXT, export: TEXT, thread: { type: "boolean" } }, ["module"]),
      wasm: mapOf({ component: TEXT, tool: TEXT, export: TEXT, engine: { const: "jco" } }, ["component"]),
      quickjs: {
        ...mapOf({ file: TEXT, source: TEXT, export: TEXT }),
        oneOf: [{ required: ["file"] }, { required: ["source"] }],
        message: "must have either file or source",
      },
      process: PROCESS,
      microvm: mapOf({ image: TEXT, command: TEXT, args: { type: "array", items: { type: "string" } } }, [
        "image",
        "command",
      ]),
      remote: {
        ...mapOf({ url: TEXT, http: HTTP, web: mapOf({ method: TEXT }, ["method"]), executor: EXECUTOR }),
        oneOf: ["url", "http", "web", "executor"].map((member) => ({ required: [member] })),
        message: "must have exactly one of url, http, web and executor",
      },
    },
    ["name", "description"],
  ),
});

/** A value of the {@link TOOL_SHAPE}. Paths are relative to the file. */
export interface ToolEntry extends Pick<ToolTraits, ConfigTrait> {
  readonly name: string;
  readonly description: string;
  /** The schema or the path of its file; absent if the tool is free-form. */
  readonly inputSchema?: JsonObject | string;
  readonly freeform?: boolean;
  /** The dialect from which the schema is mapped. Default: the schema is JSON Schema. */
  readonly dialect?: SchemaDialect | "auto";
  readonly nullForOptional?: "absent" | "reject";
  readonly coerce?: boolean;
  /** The wall time, with a unit, such as `30s`. */
  readonly timeout?: string | number;
  readonly host?: HostEntry;
  readonly wasm?: Omit<WasmImplementation, "component"> & { readonly component: string };
  readonly quickjs?: { readonly file?: string; readonly source?: string; readonly export?: string };
  readonly process?: ProcessEntry;
  readonly microvm?: MicrovmImplementation;
  readonly remote?: RemoteImplementation;
}

/** A program. */
export interface ProcessEntry extends Omit<ProcessImplementation, "args" | "input" | "killGraceMs"> {
  readonly args?: readonly (string | ArgumentReference)[];
  readonly input?: "json" | "none" | ArgumentReference;
  /** The time between SIGTERM and SIGKILL, with a unit, such as `5s`; 0 for none. */
  readonly killGrace?: string | number;
}

/** An export of an ES module. */
export interface HostEntry {
  readonly module: string;
  /** Default: `"default"`. */
  readonly export?: string;
  /**
   * Whether the export is a function that runs in a worker thread, as a `HostModule` does. Otherwise it is a function
   * or a factory, and the module is imported into this process. Default: `true`.
   */
  readonly thread?: boolean;
}
