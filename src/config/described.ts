import type { JsonObject } from "../json/value.ts";
import { TEXT } from "./shape.ts";

/**
 * Returns a schema with a description, which editors show, and `docs/sandgate-yaml.md` has. It ends with `Default: …` if
 * the value may be absent, unless nothing takes its place. A `title` of the schema names the kind of value in the
 * documentation.
 */
export function described(schema: JsonObject, description: string): JsonObject {
  return { ...schema, description };
}

/** The schema of `true` or `false`. */
export const FLAG: JsonObject = Object.freeze({ type: "boolean" });
/** The schema of a list of texts that are not empty. */
export const TEXTS: JsonObject = Object.freeze({ type: "array", items: TEXT });
/** The schema of a duration with its unit, or in milliseconds. Its form is checked when it is parsed. */
export const DURATION: JsonObject = Object.freeze({ type: ["string", "number"], title: "duration" });
/** The schema of a size with its unit, or in bytes. Its form is checked when it is parsed. */
export const SIZE: JsonObject = Object.freeze({ type: ["string", "number"], title: "size" });
/** The schema of the path of a file or directory, relative to the file that has it. */
export const PATH: JsonObject = Object.freeze({ ...TEXT, title: "path" });
