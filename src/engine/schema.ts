import { Ajv, type AnySchema, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject, JsonValue } from "../json/value.ts";

/** A compiled schema. Returns every error as `/path message`, or `undefined` for a valid value. */
export type Validator = (value: JsonValue) => readonly string[] | undefined;

const OPTIONS: Options = {
  allErrors: true,
  // Own properties only: `required: ["constructor"]` must fail on `{}`.
  ownProperties: true,
  // Schemas come from catalogues: unknown keywords are annotations, as the specification has it.
  strict: false,
  validateFormats: false,
  // Two tools may use the same $id, and none may see another's.
  addUsedSchema: false,
  logger: false,
};

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;

const draft2020 = lazily(() => new Ajv2020(OPTIONS));
const draft7 = lazily(() => new Ajv(OPTIONS));

/**
 * Compiles a JSON schema of draft 2020-12, or of draft 7 if `$schema` says so. References are resolved
 * inside the schema only; nothing is fetched. `format` is an annotation.
 *
 * @throws {Error} when the schema does not compile; the message says why.
 */
export function compileSchema(schema: JsonObject): Validator {
  const dialect = schema["$schema"];
  const isDraft7 = typeof dialect === "string" && DRAFT_7.test(dialect);
  const ajv = isDraft7 ? draft7() : draft2020();
  let validate: ValidateFunction;
  try {
    validate = ajv.compile(schema as AnySchema);
  } finally {
    // Otherwise the compiler keeps every schema that it ever saw.
    ajv.removeSchema(schema as AnySchema);
  }
  // Such a validator answers with a promise, which would pass for "valid".
  if ("$async" in validate) throw new Error("$async schemas are not supported");
  return (value) => (validate(value) ? undefined : describe(validate.errors ?? []));
}

/** Building a compiler takes milliseconds, and most programs need one dialect. */
function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function describe(errors: readonly ErrorObject[]): readonly string[] {
  return errors.map(({ instancePath, keyword, message = "is not valid", params }) => {
    const text = `${message}${explain(keyword, params)}`;
    return instancePath === "" ? text : `${instancePath} ${text}`;
  });
}

/** What the messages of some keywords leave out, and whoever mends the call needs. */
function explain(keyword: string, params: Record<string, unknown>): string {
  if (keyword === "additionalProperties") return `: '${String(params["additionalProperty"]).slice(0, 64)}'`;
  if (keyword === "enum" || keyword === "const") {
    const allowed = JSON.stringify(params["allowedValues"] ?? params["allowedValue"]);
    return allowed.length <= 256 ? `: ${allowed}` : "";
  }
  return "";
}
