import { compileShape, type Shape } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";
import { DIALECTS, type SchemaDialect } from "../../schema/dialects/type-names.ts";
import type { RemoteImplementation } from "../../tool/remote-implementation.ts";
import { SIDE_EFFECTS } from "../../tool/side-effects.ts";

const TEXT: JsonObject = { type: "string", minLength: 1 };

function map(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: "object", properties, required, additionalProperties: false };
}

/** A tool's `remote.http`; what its templates hold is checked when the tool is registered. */
const HTTP: JsonObject = map(
  {
    method: TEXT,
    url: TEXT,
    headers: { type: "object", additionalProperties: { type: "string" } },
    body: {},
    response: map({ pointer: { type: "string" }, text: { type: "boolean" } }),
    maxRedirects: { type: "integer" },
  },
  ["url"],
);

/** The schema of a tool's `remote.executor`. */
const EXECUTOR: JsonObject = {
  anyOf: [TEXT, { type: "array", items: TEXT, minItems: 1 }],
  message: "must be an address or a list of addresses",
};

/** `sandgate.yaml` itself; what its parts hold is checked part by part. */
export const CONFIG_SHAPE: Shape = compileShape(
  map({ tools: { type: "array" }, policy: { type: ["object", "string"] }, sandboxes: {}, server: {} }, [
    "tools",
    "policy",
  ]),
);

/** One of `tools`. */
export const TOOL_SHAPE: Shape = compileShape(
  map(
    {
      name: { type: "string" },
      description: { type: "string" },
      inputSchema: { type: ["object", "string"] },
      dialect: { type: "string", enum: ["auto", ...Object.keys(DIALECTS)] },
      nullForOptional: { type: "string", enum: ["absent", "reject"] },
      coerce: { type: "boolean" },
      sideEffects: { type: "string", enum: SIDE_EFFECTS },
      host: map({ module: TEXT, export: TEXT }, ["module"]),
      worker: map({ module: TEXT, export: TEXT }, ["module"]),
      wasm: map({ component: TEXT, tool: TEXT, export: TEXT }, ["component"]),
      quickjs: {
        ...map({ file: TEXT, source: TEXT, export: TEXT }),
        oneOf: [{ required: ["file"] }, { required: ["source"] }],
        message: "must have either file or source",
      },
      remote: {
        ...map({ url: TEXT, http: HTTP, executor: EXECUTOR }),
        oneOf: [{ required: ["url"] }, { required: ["http"] }, { required: ["executor"] }],
        message: "must have exactly one of url, http and executor",
      },
    },
    ["name", "description", "inputSchema"],
  ),
);

/** A value of the {@link TOOL_SHAPE}. Paths are relative to the file. */
export interface ToolEntry {
  readonly name: string;
  readonly description: string;
  /** The schema or the path of its file. */
  readonly inputSchema: JsonObject | string;
  /** The dialect from which the schema is mapped. Default: the schema is JSON Schema. */
  readonly dialect?: SchemaDialect | "auto";
  readonly nullForOptional?: "absent" | "reject";
  readonly coerce?: boolean;
  readonly sideEffects?: (typeof SIDE_EFFECTS)[number];
  readonly host?: ModuleEntry;
  readonly worker?: ModuleEntry;
  readonly wasm?: { readonly component: string; readonly tool?: string; readonly export?: string };
  readonly quickjs?: { readonly file?: string; readonly source?: string; readonly export?: string };
  readonly remote?: RemoteImplementation;
}

/** A function of an ES module. */
export interface ModuleEntry {
  readonly module: string;
  /** Default: `"default"`. */
  readonly export?: string;
}
