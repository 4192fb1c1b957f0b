import type { ValidateFunction } from "ajv";
import { loadAjv } from "../base/load-ajv.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";

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

/** The schema of an object that has these members, and no others. */
export function closed(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}
