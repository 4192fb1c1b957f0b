import type { JsonObject } from "../../../json/value.ts";

/** The symbol that marks a `Schema` of any copy of the SDK. */
const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

/**
 * A schema for AI SDK 7: a Standard Schema (standardschema.dev) with a JSON Schema. At run time it is also a `Schema`
 * of the SDK, because the SDK closes the objects of any other schema. It accepts every value: the engine validates, and
 * its errors are written for the model.
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

/** Wraps a JSON Schema. Each reader gets a separate copy. */
export function toAiSdkSchema(schema: JsonObject): AiSdkSchema {
  const copy = (): Record<string, unknown> => structuredClone({ ...schema });
  let own: Record<string, unknown> | undefined;
  const wrapped = {
    "~standard": {
      version: 1,
      vendor: "sandgate",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: copy, output: copy },
    },
    [AI_SDK_SCHEMA]: true,
    // Copied on first use: that takes longer than everything else.
    get jsonSchema(): Record<string, unknown> {
      own ??= copy();
      return own;
    },
    validate: (value: unknown) => ({ success: true, value }),
  } as const;
  return wrapped;
}
