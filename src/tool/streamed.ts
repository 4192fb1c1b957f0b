import { hasAtMost } from "../base/text.ts";

/** The level of a log line. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Something that a tool shows to people, for example a diagram. */
export interface Display {
  /** How the source is to be read, such as `mermaid`: 1 to 64 letters, digits and `.+-/`. */
  readonly format: string;
  /** 1 to 100,000 characters. Foreign text: never to be shown as markup of the program that shows it. */
  readonly source: string;
}

/** The form of a format, as a `pattern` of JSON Schema. */
export const DISPLAY_FORMAT = "^[\\w.+/-]{1,64}$";
/** Maximum number of characters of a source. */
export const MAX_DISPLAY_CHARS = 100_000;

/** Returns a frozen copy. @throws {TypeError} if it is invalid. */
export function checkDisplay(given: Display): Display {
  const { format, source } = (given ?? {}) as Partial<Record<keyof Display, unknown>>;
  if (typeof format !== "string" || !new RegExp(DISPLAY_FORMAT).test(format)) {
    throw new TypeError("the format must be 1 to 64 letters, digits and .+-/");
  }
  if (typeof source !== "string" || source === "" || !hasAtMost(source, MAX_DISPLAY_CHARS)) {
    throw new TypeError(`the source must be a text of 1 to ${MAX_DISPLAY_CHARS} characters`);
  }
  return Object.freeze({ format, source: source.toWellFormed() });
}
