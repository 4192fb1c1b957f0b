import { described, TEXT } from "../../config/shape.ts";
import type { JsonObject } from "../../json/value.ts";

/** The JSON Schema of a `Receiver`. */
export const RECEIVER: JsonObject = {
  type: "object",
  properties: {
    command: described(
      { type: "array", minItems: 1, items: { type: "string" } },
      "A program and its arguments, without a shell. It reads each text from its standard input. Exactly one of `command` and `url` must be set.",
    ),
    url: described(TEXT, "An `http:` or `https:` URL that gets each text in a POST request."),
  },
  additionalProperties: false,
  oneOf: [{ required: ["command"] }, { required: ["url"] }],
  message: "must have either command, a list of a program and its arguments, or url",
};
