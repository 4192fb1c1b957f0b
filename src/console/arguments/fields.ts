import { printableLine } from "../parts/format.ts";

/** Maximum number of characters of a value in a line. */
const MAX_VALUE = 80;

/** A JSON value, as `JSON.parse` returns it. The arguments are canonical (RFC 8785), so that no number loses digits. */
export type Json = null | boolean | number | string | readonly Json[] | JsonMembers;

/** A JSON object. */
export interface JsonMembers {
  readonly [name: string]: Json;
}

/** An argument with its name. */
export interface Field {
  readonly name: string;
  readonly value: Json;
  /** Whether it says where the call acts: a path, a recipient, an address, a command. */
  readonly isTarget: boolean;
}

/** The names of arguments that say where a call acts, in the order in which they are read. */
const TARGETS: readonly string[] = [
  "to",
  "recipient",
  "recipients",
  "cc",
  "bcc",
  "channel",
  "account",
  "url",
  "uri",
  "host",
  "hostname",
  "path",
  "file",
  "file_path",
  "filepath",
  "filename",
  "directory",
  "source",
  "destination",
  "target",
  "command",
  "cmd",
  "program",
  "repository",
  "repo",
  "branch",
  "database",
  "table",
  "bucket",
];

/** Whether a value is an object. */
export function isMembers(value: Json | undefined): value is JsonMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the name of an argument is that of a path, a recipient or the like. */
export function isTargetName(name: string): boolean {
  return TARGETS.includes(name.toLowerCase());
}

/**
 * Returns arguments in the order in which a person reads them: where the call acts first, then as in the tool's schema,
 * then all others by their names.
 *
 * @param order The names in the order of the schema.
 */
export function fieldsOf(members: JsonMembers, order: readonly string[] = []): readonly Field[] {
  const rank = (name: string): number => {
    const target = TARGETS.indexOf(name.toLowerCase());
    if (target >= 0) return target - TARGETS.length;
    const at = order.indexOf(name);
    return at < 0 ? order.length : at;
  };
  return Object.entries(members)
    .map(([name, value]) => ({ name, value, isTarget: isTargetName(name) && isShort(value) }))
    .sort((one, other) => rank(one.name) - rank(other.name));
}

/** Whether a value fits into a line: no text with line breaks, and no object. */
export function isShort(value: Json): boolean {
  if (typeof value === "string") return value.length <= 200 && !value.includes("\n");
  if (Array.isArray(value))
    return value.length <= 20 && value.every((item) => !isNested(item) && isShort(item));
  return !isMembers(value);
}

function isNested(value: Json): boolean {
  return typeof value === "object" && value !== null;
}

/** The members of a replacement: what is removed, and what is put in its place. */
const REPLACEMENTS: readonly (readonly [before: string, after: string])[] = [
  ["old", "new"],
  ["old_string", "new_string"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
  ["oldString", "newString"],
  ["before", "after"],
  ["search", "replace"],
  ["find", "replace"],
];

/** A text that is put in the place of another one. */
export interface Replacement {
  readonly before: string;
  readonly after: string;
  /** The names of both members. */
  readonly names: readonly [before: string, after: string];
  /** The other members, such as `replaceAll`. */
  readonly rest: readonly Field[];
}

/** Returns the replacement that an object describes; `undefined` if it does not. */
export function replacementOf(members: JsonMembers): Replacement | undefined {
  for (const names of REPLACEMENTS) {
    const [before, after] = names.map((name) => (Object.hasOwn(members, name) ? members[name] : undefined));
    if (typeof before !== "string" || typeof after !== "string") continue;
    const rest = Object.entries(members).filter(([name]) => !names.includes(name));
    return { before, after, names, rest: fieldsOf(Object.fromEntries(rest)) };
  }
  return undefined;
}

/** Returns the name of the new text of a replacement, such as `edits/1/new`; of a whole text, that of its argument. */
export function nameOf({ names: [, after] }: Replacement, above: string): string {
  if (above === "") return after;
  return after === "after" ? above : `${above}/${after}`;
}

/** The arguments that have the whole new text of a file. */
const CONTENTS: readonly string[] = ["content", "contents", "file_text", "text", "data"];

/**
 * Returns arguments in which the whole new text of a file is a replacement of its text.
 *
 * @param current The text of the file, as it is now. If it does not exist or is not known, the arguments are returned as they are.
 */
export function withCurrent(given: JsonMembers, current: string | null | undefined): JsonMembers {
  const name = CONTENTS.find((known) => Object.hasOwn(given, known) && typeof given[known] === "string");
  if (typeof current !== "string" || name === undefined || replacementOf(given) !== undefined) return given;
  return { ...given, [name]: { before: current, after: given[name] as string } };
}

/** Whether a text is a unified diff. */
export function isUnifiedDiff(text: string): boolean {
  return /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text);
}

/** Returns every text in a value, with the names of the members that lead to it: `edits/0/new`. */
export function textsOf(value: Json, name = ""): readonly { readonly name: string; readonly text: string }[] {
  if (typeof value === "string") return [{ name, text: value }];
  if (typeof value !== "object" || value === null) return [];
  const below = (key: string): string => (name === "" ? key : `${name}/${key}`);
  return Object.entries(value).flatMap(([key, item]) => textsOf(item as Json, below(key)));
}

/**
 * Writes arguments in a line, in the order in which they are read.
 *
 * @param summary JSON, which the server has escaped. What is not whole stays as it is.
 */
export function summaryLine(summary: string): string {
  let value: Json;
  try {
    value = JSON.parse(summary) as Json;
  } catch {
    return summary;
  }
  if (!isMembers(value)) return summary;
  return fieldsOf(value)
    .map(({ name, value: own, isTarget }) => {
      const text = briefly(own);
      const short = printableLine(text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text);
      return isTarget ? short : `${printableLine(name)}: ${short}`;
    })
    .join(" · ");
}

function briefly(value: Json): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || value.every((item) => typeof item !== "object")) return JSON.stringify(value);
  return value.length === 1 ? "1 item" : `${value.length} items`;
}
