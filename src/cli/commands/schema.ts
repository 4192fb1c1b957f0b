import { described, mapOf } from "../../config/shape.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { policyFileSchema } from "../../policy/file/read.ts";
import { ShownText } from "../../rendering/shown.ts";
import { TOOLSET_NAMES } from "../../toolsets/toolsets.ts";
import { AGENTS_SHAPE } from "../config/load-agents.ts";
import { CONFIG_SHAPE } from "../config/load-config.ts";
import {
  REDACTION_SHAPE,
  RESULT_BUDGET_SHAPE,
  TIMEOUTS_SHAPE,
  UNHANDLED_ERRORS_SHAPE,
} from "../config/load-context.ts";
import { JOURNAL_SHAPE } from "../config/load-journal.ts";
import { LOG_SHAPE } from "../config/load-log.ts";
import { MCP_SHAPE } from "../config/load-mcp.ts";
import { CEDAR_SHAPE } from "../config/load-policy.ts";
import { SANDBOXES_SHAPE } from "../config/load-sandboxes.ts";
import { CONFIRMATIONS_SHAPE, SESSIONS_SHAPE } from "../config/load-sessions.ts";
import { TELEMETRY_SHAPE } from "../config/load-telemetry.ts";
import { DURABLE_SHAPE } from "../config/server/load-durable.ts";
import { SERVER_SHAPE } from "../config/server/server-entry.ts";
import { TOOL_SHAPE } from "../config/tools/tool-entry.ts";
import { OPTIONS_READERS, TOOLSET_DESCRIPTIONS } from "../config/tools/toolset-options.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal.ts";

/** The parts of a config that are checked by shapes of their own. */
const PARTS: Readonly<Record<string, JsonObject>> = {
  tools: { type: "array", items: TOOL_SHAPE.schema },
  mcp: MCP_SHAPE.schema,
  redaction: REDACTION_SHAPE.schema,
  timeouts: TIMEOUTS_SHAPE.schema,
  unhandledErrors: UNHANDLED_ERRORS_SHAPE.schema,
  resultBudget: RESULT_BUDGET_SHAPE.schema,
  log: LOG_SHAPE.schema,
  telemetry: TELEMETRY_SHAPE.schema,
  sandboxes: SANDBOXES_SHAPE.schema,
  server: SERVER_SHAPE.schema,
  journal: JOURNAL_SHAPE.schema,
  sessions: SESSIONS_SHAPE.schema,
  durable: DURABLE_SHAPE.schema,
  confirmations: CONFIRMATIONS_SHAPE.schema,
  agents: AGENTS_SHAPE.schema,
};

/** Prints the JSON Schema of `sandgate.yaml`. */
export async function schema({ stdout }: Terminal): Promise<ExitCode> {
  await print(stdout, new ShownText(JSON.stringify(configSchema(), null, 2), { isData: true }));
  return EXIT_OK;
}

/**
 * Returns the JSON Schema (draft 2020-12) of `sandgate.yaml`, for editors. It is made from the shapes that check a
 * config. `sandgate check` finds more: what files contain, names that must exist, forms of durations and patterns.
 */
export function configSchema(): JsonObject {
  const { $defs = {}, ...policy } = policyFileSchema();
  const { properties, ...rules } = CONFIG_SHAPE.schema;
  // What a policy is inside of a config: the path of its file, rules, or Cedar.
  const onePolicy: JsonObject = {
    anyOf: [{ type: "string", minLength: 1 }, policy, CEDAR_SHAPE.schema],
  };
  const parts: JsonObject = {
    ...PARTS,
    toolsets: { type: "array", items: toolsetSchema() },
    policy: { anyOf: [onePolicy, { type: "array", minItems: 1, items: onePolicy }] },
  };
  const entries = Object.entries(properties as Readonly<Record<string, JsonObject>>);
  const schema: JsonObject = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "sandgate.yaml",
    ...rules,
    properties: Object.fromEntries(entries.map(([name, entry]) => [name, join(entry, parts[name])])),
    anyOf: ["tools", "toolsets", "mcp"].map((name) => ({ required: [name] })),
    $defs,
  };
  return withoutKeywords(schema) as JsonObject;
}

/** An entry of a config with its description, whose schema is that of its part if it has one. */
function join(entry: JsonObject, part: JsonValue | undefined): JsonObject {
  const { description, default: fallback } = entry;
  return isJsonObject(part)
    ? { description, ...(fallback !== undefined && { default: fallback }), ...part }
    : entry;
}

/** The name of a toolset, or a map with its name as the only key and its options as the value. */
function toolsetSchema(): JsonObject {
  const options = TOOLSET_NAMES.map((name) => [
    name,
    described(mapOf(OPTIONS_READERS[name].members), TOOLSET_DESCRIPTIONS[name]),
  ]);
  return {
    anyOf: [
      { enum: [...TOOLSET_NAMES] },
      { ...mapOf(Object.fromEntries(options)), minProperties: 1, maxProperties: 1 },
    ],
  };
}

/** Leaves out the keywords of shapes only. A member of a map can have the name `message`, too: its value is a schema. */
function withoutKeywords(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutKeywords);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === undefined || name === "formerKeys" || (name === "message" && typeof member === "string")
        ? []
        : [[name, withoutKeywords(member)]],
    ),
  );
}
