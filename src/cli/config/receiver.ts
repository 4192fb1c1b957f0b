import { TEXT } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";

/** The JSON Schema of a `Receiver`. */
export const RECEIVER: JsonObject = {
  type: "object",
  properties: { command: { type: "array", minItems: 1, items: { type: "string" } }, url: TEXT },
  additionalProperties: false,
  oneOf: [{ required: ["command"] }, { required: ["url"] }],
  message: "must have either command, a list of a program and its arguments, or url",
};
