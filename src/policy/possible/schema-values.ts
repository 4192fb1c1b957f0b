import { lookUp, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { compilePattern, MAX_PATTERN_LENGTH } from "../../patterns/pattern.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { parseOrigin } from "../grant/net-grant.ts";
import { MAX_MATCHED_LENGTH } from "../match/ambiguous-text.ts";

const MAX_DEPTH = 8;
/**
 * Maximum number of schemas that are looked at for one value: a small schema can refer to itself many times.
 */
const MAX_SCHEMAS = 1_000;
const MAX_ITEMS = 16;
const TEXTS_OF_FORMATS: Readonly<Record<string, string>> = {
  uri: "https://example.com/",
  "uri-reference": "/a",
  email: "a@example.com",
  date: "2026-01-01",
  "date-time": "2026-01-01T00:00:00Z",
  time: "00:00:00Z",
  uuid: "00000000-0000-4000-8000-000000000000",
  ipv4: "192.0.2.1",
  hostname: "example.com",
};

/** How values are made up. */
interface Style {
  readonly root: JsonObject;
  readonly text: string;
  /** Whether members that may be missing are there. */
  readonly isFull: boolean;
  /** How many more schemas are looked at. */
  left: number;
}

/**
 * Makes up values that a JSON Schema most likely accepts: one with as few members as possible, and more with all of them. The
 * schema itself has to decide.
 */
export function schemaValues(root: JsonObject): readonly JsonValue[] {
  const styles = [
    { text: "a", isFull: false },
    { text: "a", isFull: true },
    { text: "https://example.com/", isFull: true },
  ];
  const values = styles.map((style) => make(root, { root, left: MAX_SCHEMAS, ...style }, 0));
  const texts = values.map((value) => JSON.stringify(value));
  return values.filter((_, index) => texts.indexOf(texts[index] ?? "") === index);
}

function make(schema: JsonValue | undefined, style: Style, depth: number): JsonValue {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return style.text;
  const whole = resolve(schema, style);
  if (whole["const"] !== undefined) return whole["const"];
  for (const name of ["enum", "examples"]) {
    const [first] = listOf(whole[name]);
    if (first !== undefined) return first;
  }
  if (whole["default"] !== undefined) return whole["default"];
  const type = typeOf(whole);
  if (type === "object") return makeObject(whole, style, depth);
  if (type === "array") return makeList(whole, style, depth);
  if (type === "number" || type === "integer") return makeNumber(whole, type === "integer");
  if (type === "boolean") return false;
  return type === "null" ? null : makeText(whole, style);
}

/** A schema with what its reference and its parts say, the first of each choice. */
function resolve(schema: JsonObject, style: Style, depth = 0): JsonObject {
  if (depth > MAX_DEPTH || style.left-- <= 0) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const found =
    typeof $ref === "string" && $ref.startsWith("#") ? lookUp(style.root, parsePointer($ref.slice(1))) : {};
  const parts = [
    typeof found === "symbol" ? {} : found,
    ...listOf(allOf),
    listOf(anyOf)[0],
    listOf(oneOf)[0],
  ];
  let whole: JsonObject = own;
  for (const part of parts) if (isJsonObject(part)) whole = join(whole, resolve(part, style, depth + 1));
  return whole;
}

function join(one: JsonObject, other: JsonObject): JsonObject {
  const required = [...listOf(one["required"]), ...listOf(other["required"])];
  const properties = { ...objectOf(other["properties"]), ...objectOf(one["properties"]) };
  return {
    ...other,
    ...one,
    ...(required.length > 0 && { required }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}

function typeOf({ type, properties, required, items }: JsonObject): JsonValue | undefined {
  const types = type === undefined || Array.isArray(type) ? listOf(type) : [type];
  if (types.length > 0) return types.find((each) => each !== "null") ?? "null";
  if (properties !== undefined || required !== undefined) return "object";
  return items === undefined ? undefined : "array";
}

function makeObject({ properties, required }: JsonObject, style: Style, depth: number): JsonObject {
  const known = objectOf(properties);
  const names = [...listOf(required).filter((name) => typeof name === "string")];
  if (style.isFull) names.push(...Object.keys(known));
  return Object.fromEntries(names.map((name) => [name, make(known[name], style, depth + 1)]));
}

function makeList({ items, prefixItems, minItems = 0 }: JsonObject, style: Style, depth: number): JsonValue {
  const first = listOf(prefixItems ?? items).slice(0, MAX_ITEMS);
  const count = Math.max(first.length, Math.min(Number(minItems), MAX_ITEMS), style.isFull ? 1 : 0);
  return Array.from({ length: count }, (_, index) => make(first[index] ?? items, style, depth + 1));
}

function makeNumber(schema: JsonObject, isInteger: boolean): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === "number" ? multipleOf : isInteger ? 1 : 0.5;
  const least = typeof minimum === "number" ? minimum : undefined;
  const above = typeof exclusiveMinimum === "number" ? exclusiveMinimum + step : undefined;
  const most = typeof maximum === "number" ? maximum : undefined;
  const below = typeof exclusiveMaximum === "number" ? exclusiveMaximum - step : undefined;
  const number = least ?? above ?? Math.min(most ?? 0, below ?? 0, 0);
  return isInteger ? Math.ceil(number / step) * step : number;
}

function makeText({ pattern, format, minLength = 0, maxLength }: JsonObject, { text }: Style): string {
  if (typeof pattern === "string") return regexTexts(pattern)[0] ?? text;
  const wanted = (typeof format === "string" ? TEXTS_OF_FORMATS[format] : undefined) ?? text;
  const long = wanted.padEnd(Math.min(Number(minLength), 4_096), "a");
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Characters that stand for any. */
const FILLERS = ["a", "0", "_", "Z"];
const MAX_STEPS = 64;

/** Returns texts that a glob most likely matches. */
export function globTexts(glob: string): readonly string[] {
  return ["a", "a/b", ""].flatMap((segments) =>
    FILLERS.slice(0, 2).map((filler) =>
      firstAlternatives(glob)
        .split("/")
        .flatMap((segment) =>
          segment === "**" ? (segments === "" ? [] : segments) : fillSegment(segment, filler),
        )
        .join("/"),
    ),
  );
}

/** Replaces each `{a,b}` with its first alternative, the innermost first. */
function firstAlternatives(glob: string): string {
  let left = glob;
  for (let step = 0; step < MAX_STEPS && left.includes("{"); step++) {
    left = left.replace(/\{([^{},]*)(?:,[^{}]*)?\}/, "$1");
  }
  return left;
}

function fillSegment(segment: string, filler: string): string {
  return segment.replace(/\[!([^\]]+)\]|\[([^\]])[^\]]*\]|[*?]/g, (_, excluded?: string, first?: string) => {
    if (first !== undefined) return first;
    return excluded === undefined ? filler : (FILLERS.find((each) => !excluded.includes(each)) ?? filler);
  });
}

/** Returns texts that a regular expression most likely matches; nothing if it is more than a simple one. */
export function regexTexts(regex: string): readonly string[] {
  if (regex.length > MAX_PATTERN_LENGTH) return [];
  const reader = new RegexReader(regex);
  try {
    const text = reader.alternatives();
    return reader.isDone ? [text, `${text}a`, `a${text}`] : [];
  } catch (error) {
    if (error instanceof PatternError) return [];
    throw error;
  }
}

const CLASSES: Readonly<Record<string, string>> = { d: "0", w: "a", s: " ", D: "a", W: "-", S: "a" };
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "", B: "" };

/** Reads a regular expression, and writes the shortest text that its first alternatives match. */
class RegexReader {
  readonly #regex: string;
  #at = 0;
  #isGivenUp = false;

  constructor(regex: string) {
    this.#regex = regex;
  }

  /** Whether the whole expression was read. */
  get isDone(): boolean {
    return this.#at === this.#regex.length && !this.#isGivenUp;
  }

  alternatives(): string {
    const first = this.#sequence();
    while (this.#take("|")) this.#sequence();
    return first;
  }

  #sequence(): string {
    let text = "";
    while (!["", "|", ")"].includes(this.#next)) {
      const item = this.#item();
      const count = this.#count();
      // Repetitions of repetitions multiply.
      if (text.length + item.length * count > MAX_MATCHED_LENGTH) this.#isGivenUp = true;
      else text += item.repeat(count);
    }
    return text;
  }

  #item(): string {
    if (this.#take("^") || this.#take("$")) return "";
    if (this.#take(".")) return "a";
    if (this.#take("(")) {
      this.#skip(/\?(?::|<\w+>)/y);
      const text = this.alternatives();
      if (!this.#take(")")) this.#isGivenUp = true;
      return text;
    }
    const set = this.#skip(/\[\^?(?:\\.|[^\]\\])*\]/y);
    if (set !== undefined) return memberOf(set);
    const escaped = this.#skip(/\\./y)?.[1];
    if (escaped !== undefined) return CLASSES[escaped] ?? CONTROLS[escaped] ?? escaped;
    return this.#regex[this.#at++] ?? "";
  }

  /** How often the last item is repeated, at least. */
  #count(): number {
    const written = this.#skip(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y);
    if (written === undefined || written.startsWith("+")) return 1;
    return written.startsWith("{") ? Number.parseInt(written.slice(1), 10) : 0;
  }

  get #next(): string {
    return this.#regex[this.#at] ?? "";
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at++;
    return true;
  }

  #skip(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#regex) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** Returns a character that a set such as `[a-z]` has. */
function memberOf(set: string): string {
  const isNegated = set.startsWith("[^");
  if (!isNegated) return set[1] === "\\" ? (CLASSES[set[2] ?? ""] ?? set[2] ?? "") : (set[1] ?? "");
  const pattern = compilePattern(set);
  return FILLERS.concat("-", " ", "/").find((character) => pattern.test(character)) ?? "a";
}

/** Returns an origin that the pattern of an origin matches. */
export function originLike(pattern: string): string {
  const { scheme, host, port } = parseOrigin(pattern);
  const known = host === "*" ? "example.com" : host.replace(/^\*\./, "a.");
  const own = scheme === "https" ? 443 : 80;
  return `${scheme}://${known}${port === "*" || port === own ? "" : `:${port}`}`;
}

/** Returns a name that a pattern of names matches. */
export function nameLike(pattern: string): string {
  return pattern.replace(/\\([*\\])|\*/g, (_, escaped?: string) => escaped ?? "a");
}
