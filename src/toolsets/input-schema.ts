import type { JsonObject } from "../json/value.ts";

/** The JSON Schema of an object with required and optional members, and no others. */
type ObjectSchema<Required, Optional> = {
  readonly type: "object";
  readonly properties: Required & Optional;
  readonly required: readonly (keyof Required & string)[];
  readonly additionalProperties: false;
};

/**
 * Returns the input schema of a tool: an object that has these members and no others.
 *
 * @param required The schemas of the members that must be there.
 * @param optional The schemas of the others.
 */
export function inputSchema<
  const Required extends JsonObject,
  const Optional extends JsonObject = Record<never, never>,
>(required: Required, optional?: Optional): ObjectSchema<Required, Optional> {
  return {
    type: "object",
    properties: { ...required, ...(optional as Optional) },
    required: Object.keys(required) as (keyof Required & string)[],
    additionalProperties: false,
  };
}
