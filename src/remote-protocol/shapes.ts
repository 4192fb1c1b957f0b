import type { ValidateFunction } from "ajv";
import { loadAjv } from "../base/load-ajv.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { CAPABILITY_NAMES } from "../policy/grant/capabilities.ts";
import { LIMIT_NAMES, MAX_WALL_TIME_MS } from "../policy/grant/limits.ts";
import { MAX_FILE_CHANGES } from "../tool/changes.ts";
import { ISOLATIONS, SANDBOX_MODES } from "../tool/sandbox-mode.ts";
import { MAX_MODEL_TEXT } from "./messages.ts";
import { PROBLEMS } from "./problems.ts";

/** Checks bodies against a JSON Schema (draft 2020-12), which is compiled when it is first used. */
export class BodyCheck {
  readonly #schema: JsonObject;
  #validate: ValidateFunction | undefined;

  constructor(schema: JsonObject) {
    this.#schema = schema;
  }

  /** Returns the first problem of a value, such as `/call/id must be string`; `undefined` if it has the shape. */
  problem(value: JsonValue): string | undefined {
    // Ajv stops at the first error here, which bounds the work for bodies with many of them.
    this.#validate ??= new (loadAjv().Ajv2020)({ ownProperties: true, strictTypes: false }).compile(
      this.#schema,
    );
    if (this.#validate(value)) return undefined;
    const [error] = this.#validate.errors ?? [];
    if (error === undefined) return "does not match the schema";
    const { instancePath, message, params } = error;
    const unknown: unknown = params["additionalProperty"] ?? params["propertyName"];
    if (unknown !== undefined) return `${instancePath || "/"} has an unknown member`;
    return `${instancePath || "/"} ${message ?? "does not match the schema"}`;
  }
}

const NAME: JsonObject = { type: "string", maxLength: 1_024 };
const TEXT: JsonObject = { type: "string" };
const FIGURE: JsonObject = { type: "number", minimum: 0 };
const LIMIT: JsonObject = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

/** `ResourceLimits`. */
const LIMITS: JsonObject = closed(Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMIT])), LIMIT_NAMES);

/** The members of an execution that do not repeat the call. */
const RESULT: JsonObject = {
  success: { type: "boolean" },
  output: {},
  durationMs: FIGURE,
  sandbox: { enum: [...SANDBOX_MODES, null] },
  error: closed(
    {
      code: TEXT,
      message: TEXT,
      effect: { enum: ["none", "committed", "unknown"] },
      userVisible: { type: "boolean" },
      limit: { enum: LIMIT_NAMES },
    },
    ["userVisible", "limit"],
  ),
  metadata: { type: "object" },
  modelText: { type: "string", maxLength: MAX_MODEL_TEXT },
  changes: closed(
    {
      files: {
        type: "array",
        maxItems: MAX_FILE_CHANGES,
        items: closed({
          path: TEXT,
          change: { enum: ["created", "modified", "deleted"] },
          bytes: { type: "integer", minimum: 0 },
        }),
      },
      more: { const: true },
      command: TEXT,
    },
    ["more", "command"],
  ),
  receipt: closed(
    {
      enforced: LIMITS,
      used: { type: "object", properties: { wallTimeMs: FIGURE }, required: ["wallTimeMs"] },
      mayStillRun: { const: true },
      ended: { enum: ["confirmed", "requested", "unknown"] },
      grant: closed({ digest: TEXT }),
      isolation: { enum: [...ISOLATIONS] },
    },
    ["mayStillRun", "ended", "grant", "isolation"],
  ),
};
const OPTIONAL_RESULTS = ["error", "metadata", "modelText", "changes"];

function problemSchema(code: JsonObject): JsonObject {
  return closed({ error: closed({ code, message: TEXT, effect: { enum: ["none", "unknown"] } }) });
}

/**
 * JSON schemas (draft 2020-12) of the bodies. A test checks that they are the same as in `docs/openapi.yaml`.
 * The values of capabilities are checked by `checkCapabilities`.
 */
export const SCHEMAS: Readonly<Record<BodyName, JsonObject>> = Object.freeze({
  DispatchRequest: closed(
    {
      call: closed({ id: NAME, name: NAME, arguments: {} }),
      session: NAME,
      grant: closed({
        limits: LIMITS,
        capabilities: { type: "object", propertyNames: { enum: CAPABILITY_NAMES } },
      }),
      timeoutMs: { type: "integer", minimum: 1, maximum: MAX_WALL_TIME_MS },
      executor: { type: "string", maxLength: 64 },
      again: closed({ after: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } }, ["after"]),
    },
    ["timeoutMs", "executor", "again"],
  ),
  Execution: closed({ callId: TEXT, toolName: TEXT, arguments: {}, ...RESULT }, OPTIONAL_RESULTS),
  Output: closed({ chunk: TEXT }),
  Log: closed({ level: { enum: ["debug", "info", "warn", "error"] }, message: TEXT }),
  Problem: problemSchema({ enum: Object.keys(PROBLEMS) }),
  Tools: closed({
    tools: {
      type: "array",
      items: closed(
        { name: TEXT, description: TEXT, inputSchema: { type: "object" }, freeform: { const: true } },
        ["freeform"],
      ),
    },
  }),
});

/** The name of a body's shape, which `docs/openapi.yaml` uses as well. */
type BodyName = "DispatchRequest" | "Execution" | "Output" | "Log" | "Problem" | "Tools";

/**
 * The name of a shape: of a body, of an execution without the members that repeat the call, or of a problem with any code.
 */
export type ShapeName = BodyName | "ExecutionResult" | "AnyProblem";

const checks = new Map<ShapeName, BodyCheck>();

function schemaOf(name: ShapeName): JsonObject {
  if (name === "AnyProblem") return problemSchema(TEXT);
  return name === "ExecutionResult" ? closed(RESULT, OPTIONAL_RESULTS) : SCHEMAS[name];
}

/**
 * Returns the first problem of a value, such as `/call/id must be string`; `undefined` if it has the shape.
 */
export function shapeProblem(name: ShapeName, value: JsonValue): string | undefined {
  let check = checks.get(name);
  if (check === undefined) {
    check = new BodyCheck(schemaOf(name));
    checks.set(name, check);
  }
  return check.problem(value);
}

/** The schema of an object without additional members. */
export function closed(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}
