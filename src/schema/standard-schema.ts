import { isThenable } from "../base/promises.ts";
import { beginning } from "../base/text.ts";
import { escapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import { SchemaError } from "./schema-error.ts";

/**
 * A Standard Schema that has a JSON Schema: the interfaces `StandardSchemaV1` and `StandardJSONSchemaV1` of
 * https://standardschema.dev, as far as they are used here. Schemas of zod 4.2, ArkType 2.1.28 and later are such.
 */
export interface StandardInputSchema<Input = unknown> {
  readonly "~standard": {
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Exists in types only. */
    readonly types?: { readonly input: Input; readonly output: unknown } | undefined;
    /** Validates a value. Absent if the schema describes a type without validating it. */
    readonly validate?: (value: unknown) => StandardResult | Promise<StandardResult>;
    readonly jsonSchema: {
      /** Converts the input type to JSON Schema. Throws if JSON Schema cannot express the type. */
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** What a Standard Schema's `validate` returns. Falsy `issues` mean that the value is valid. */
export interface StandardResult {
  readonly issues?: readonly StandardIssue[] | undefined;
}

/** Why a value is invalid, and where. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Checks arguments that match a tool's JSON Schema. Returns the problems as `/path message`, or an empty list. */
export type InputValidator<Input = never> = (input: Input) => readonly string[];

/** A Standard Schema, converted. */
export interface ConvertedSchema {
  readonly inputSchema: JsonObject;
  /** Runs the library's own validation. `undefined` if the schema has none. */
  readonly validate: InputValidator<JsonValue> | undefined;
}

const MAX_ISSUES = 100;
const MAX_PATH_LENGTH = 256;
const MAX_MESSAGE_LENGTH = 512;

/** Returns whether a value claims to be a Standard Schema. Some libraries' schemas are functions. */
export function isStandardSchema(value: unknown): value is StandardInputSchema {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value
  );
}

/**
 * Converts a Standard Schema.
 *
 * @throws {SchemaError} if it has no JSON Schema, or JSON Schema cannot express it.
 */
export function convertStandardSchema(schema: StandardInputSchema): ConvertedSchema {
  const standard = schema["~standard"];
  const from = `the Standard Schema of '${String(standard?.vendor)}'`;
  // Types promise it, but a schema of plain JavaScript, or of an older library, may lack it.
  if (typeof standard?.jsonSchema?.input !== "function") {
    throw refused(`${from} cannot be converted to JSON Schema: it has no '~standard.jsonSchema'`);
  }
  let inputSchema: unknown;
  try {
    inputSchema = standard.jsonSchema.input({ target: "draft-2020-12" });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw refused(`${from} cannot be converted to JSON Schema: ${reason}`);
  }
  if (!isJsonObject(inputSchema)) throw refused(`${from} was converted to something that is not an object`);
  const hasValidation = typeof standard.validate === "function";
  return {
    // A copy of what is JSON: zod adds a hidden '~standard'.
    inputSchema: { ...inputSchema },
    validate: hasValidation ? (input) => validate(schema, from, input) : undefined,
  };
}

/** @throws {TypeError} if the schema validates asynchronously, and anything that the library throws. */
function validate(schema: StandardInputSchema, from: string, input: JsonValue): readonly string[] {
  const result = schema["~standard"].validate?.(input) as StandardResult;
  if (isThenable(result)) {
    // Its rejection must not end the process.
    result.then(undefined, () => {});
    throw new TypeError(`${from} validates asynchronously, which is not supported`);
  }
  return (result.issues || []).slice(0, MAX_ISSUES).map(describeIssue);
}

function describeIssue({ message, path = [] }: StandardIssue): string {
  const text = beginning(String(message), MAX_MESSAGE_LENGTH);
  const pointer = path
    .map((step) => `/${escapePointer(String(typeof step === "object" ? step.key : step))}`)
    .join("");
  return pointer === "" ? text : `${beginning(pointer, MAX_PATH_LENGTH)} ${text}`;
}

function refused(reason: string): SchemaError {
  return new SchemaError([{ path: "", reason }]);
}
