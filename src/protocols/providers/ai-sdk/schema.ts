import type { JsonObject } from "../../../json/value.ts";

/** By this AI SDK tells its own schemas, whichever copy of it made them. */
const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

/**
 * A schema for AI SDK 7: a Standard Schema (standardschema.dev) with its JSON schema. At run time it is a
 * `Schema` of the SDK too, since of any other the SDK closes the objects. It takes every value: validating is the
 * engine's part, whose texts tell the model what to mend.
 */
export interface AiSdkSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "sandgate";
    readonly validate: (value: unknown) => { readonly value: unknown };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

/** Wraps a JSON schema. Each reader gets a copy of its own. */
export function toAiSdkSchema(schema: JsonObject): AiSdkSchema {
  const copy = (): Record<string, unknown> => structuredClone({ ...schema });
  const standard: AiSdkSchema = {
    "~standard": {
      version: 1,
      vendor: "sandgate",
      validate: (value) => ({ value }),
      jsonSchema: { input: copy, output: copy },
    },
  };
  const own = {
    [AI_SDK_SCHEMA]: true,
    jsonSchema: copy(),
    validate: (value: unknown) => ({ success: true, value }),
  };
  return Object.assign(standard, own);
}
