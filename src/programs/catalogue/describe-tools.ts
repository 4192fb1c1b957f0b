import { beginning, UNPRINTABLE } from "../../base/text.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { Tool } from "../../engine/tool.ts";
import { parsePointer, lookUp as valueAt } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";

const NAMES: OptionNames<DescribeOptions> = { tools: true, style: true };

/** The longest comments, in UTF-16 code units. */
const MAX_DESCRIPTION_LENGTH = 1_000;

const MAX_SUMMARY_LENGTH = 100;

/** The longest type of an input or output, and the longest text of all declarations. */
const MAX_TYPE_LENGTH = 8_000;

const MAX_LENGTH = 1_000_000;

/** Options of {@link describe}. */
export interface DescribeOptions {
  /** Patterns of the names of the tools, in which `*` matches anything. Default: all tools. */
  readonly tools?: readonly string[];
  /**
   * `"full"`: descriptions and types of inputs and outputs. `"names"`: the names with the first sentence of each
   * description, for a model that looks the types up with `describe_tools`. Default: `"full"`.
   */
  readonly style?: "full" | "names";
}

/**
 * Writes the TypeScript declarations of tools, as a program calls them: a declaration of `tools`. The texts
 * of tools are hostile: whatever they have, the result is one declaration, of at most 1,000,000 characters;
 * tools that do not fit are counted. Schemas are not followed out of their document, and what is recursive,
 * too deep or too large is `any`.
 */
export function describe(registry: ToolRegistry<never>, options: DescribeOptions = {}): string {
  refuseUnknown(options, NAMES, "describe");
  const { tools = ["*"], style = "full" } = options;
  const patterns = tools.map(compileNamePattern);
  const named = registry.tools.filter(({ name }) => patterns.some((pattern) => pattern.matches(name)));
  return declare(named, style);
}

/**
 * Writes the declarations of these tools.
 *
 * @param extra A declaration of further members. Default: none.
 */
export function declare(
  tools: readonly Tool<never, never>[],
  style: "full" | "names",
  extra?: string,
): string {
  const lines: string[] = extra === undefined ? [] : [`  ${extra}`];
  let length = 0;
  for (const tool of tools) {
    const line = style === "full" ? fullLine(tool) : nameLine(tool);
    length += line.length + 1;
    if (length > MAX_LENGTH) {
      lines.push(`  // and ${tools.length - lines.length} more: see search_tools`);
      break;
    }
    lines.push(line);
  }
  return `declare const tools: {\n${lines.join("\n")}\n};\n`;
}

function fullLine({ name, description, inputSchema, outputSchema }: Tool<never, never>): string {
  const input = bounded(schemaType(inputSchema));
  const needsNothing = inputSchema["type"] === "object" && !hasRequired(inputSchema["required"]);
  const output = outputSchema === undefined ? "any" : bounded(schemaType(outputSchema));
  const comment = commentOf(description, MAX_DESCRIPTION_LENGTH);
  return `  ${comment}${keyOf(name)}: (input${needsNothing ? "?" : ""}: ${input}) => Promise<${output}>;`;
}

function nameLine({ name, description }: Tool<never, never>): string {
  return `  ${commentOf(firstSentence(description), MAX_SUMMARY_LENGTH)}${keyOf(name)}: (input: any) => Promise<any>;`;
}

function hasRequired(required: unknown): boolean {
  return Array.isArray(required) && required.length > 0;
}

function bounded(type: string): string {
  return type.length <= MAX_TYPE_LENGTH ? type : "any";
}

/** Returns the beginning of a text up to the end of its first sentence or paragraph. */
export function firstSentence(text: string): string {
  const start = text.slice(0, 1_000).trimStart();
  const end = /[.!?](?=\s)|\n/.exec(start);
  return end === null ? start : start.slice(0, end.index + 1).trimEnd();
}

/** An identifier that needs no quotes. */
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** The deepest type, and the most of its parts, that are written out. Deeper schemas become `any`. */
const MAX_DEPTH = 8;

const MAX_PARTS = 400;

/** Maximum number of values of an enumeration, and the longest of them. */
const MAX_VALUES = 40;

const MAX_VALUE_LENGTH = 100;

const MAX_COMMENT_LENGTH = 240;

/** Writes the TypeScript type of what a JSON Schema accepts, or a wider one: it never follows a reference out of it. */
function schemaType(schema: JsonValue): string {
  return new TypeWriter(schema).write(schema, 0);
}

class TypeWriter {
  readonly #root: JsonValue;
  /** The references that are being followed. */
  readonly #following: string[] = [];
  #parts = 0;

  constructor(root: JsonValue) {
    this.#root = root;
  }

  write(schema: JsonValue | undefined, depth: number): string {
    if (schema === false) return "never";
    if (!isJsonObject(schema) || depth > MAX_DEPTH || ++this.#parts > MAX_PARTS) return "any";
    const { $ref, enum: values, anyOf, oneOf, allOf } = schema;
    if (typeof $ref === "string") return this.#reference($ref, depth);
    if ("const" in schema) return literal(schema["const"]) ?? "any";
    if (Array.isArray(values)) {
      const literals = values.length <= MAX_VALUES ? values.map(literal) : [undefined];
      if (literals.length > 0 && !literals.includes(undefined)) return union(literals as string[]);
    }
    const alternatives = Array.isArray(anyOf) ? anyOf : oneOf;
    if (Array.isArray(alternatives) && alternatives.length > 0) {
      return union(alternatives.slice(0, MAX_VALUES).map((each) => this.write(each, depth + 1)));
    }
    if (Array.isArray(allOf) && allOf.length > 0) return this.#all(schema, allOf, depth);
    return this.#typed(schema, depth);
  }

  #typed(schema: JsonObject, depth: number): string {
    const { type } = schema;
    if (Array.isArray(type)) return union(type.map((each) => this.#ofType(each, schema, depth)));
    if (type !== undefined) return this.#ofType(type, schema, depth);
    if (isJsonObject(schema["properties"])) return this.#object(schema, depth);
    return schema["items"] === undefined ? "any" : this.#list(schema, depth);
  }

  #ofType(type: JsonValue, schema: JsonObject, depth: number): string {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return type;
      case "integer":
        return "number";
      case "array":
        return this.#list(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return "any";
    }
  }

  #list({ items, prefixItems }: JsonObject, depth: number): string {
    if (Array.isArray(prefixItems) && prefixItems.length > 0 && prefixItems.length <= MAX_VALUES) {
      const parts = prefixItems.map((item) => this.write(item, depth + 1));
      return `[${parts.join(", ")}${items === false ? "" : ", ...any[]"}]`;
    }
    const item = this.write(isJsonObject(items) ? items : {}, depth + 1);
    return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`;
  }

  #object(schema: JsonObject, depth: number): string {
    const { properties, required, additionalProperties: extra } = schema;
    const members = isJsonObject(properties) ? Object.entries(properties) : [];
    if (members.length === 0) {
      if (extra === false) return "{}";
      return `{ [name: string]: ${isJsonObject(extra) ? this.write(extra, depth + 1) : "any"} }`;
    }
    const needed = new Set(Array.isArray(required) ? required : []);
    const written: string[] = [];
    for (const [name, member] of members) {
      if (this.#parts > MAX_PARTS) {
        written.push("[name: string]: any");
        break;
      }
      const mark = needed.has(name) ? "" : "?";
      written.push(`${memberComment(member)}${keyOf(name)}${mark}: ${this.write(member, depth + 1)}`);
    }
    return `{ ${written.join("; ")} }`;
  }

  #all(schema: JsonObject, parts: readonly JsonValue[], depth: number): string {
    const { allOf: _, ...own } = schema;
    const types = [...(Object.keys(own).length > 0 ? [own] : []), ...parts.slice(0, MAX_VALUES)].map((part) =>
      this.write(part as JsonValue, depth + 1),
    );
    const known = [...new Set(types)].filter((type) => type !== "any");
    return known.length === 0 ? "any" : known.map((type) => `(${type})`).join(" & ");
  }

  #reference(reference: string, depth: number): string {
    if (!reference.startsWith("#") || this.#following.includes(reference)) return "any";
    const target = this.#target(reference);
    if (target === undefined) return "any";
    this.#following.push(reference);
    const type = this.write(target, depth + 1);
    this.#following.pop();
    return type;
  }

  #target(reference: string): JsonValue | undefined {
    try {
      const pointer = decodeURIComponent(reference.slice(1));
      if (pointer !== "" && !pointer.startsWith("/")) return undefined;
      const found = valueAt(this.#root, parsePointer(pointer));
      return typeof found === "symbol" ? undefined : found;
    } catch {
      return undefined;
    }
  }
}

function memberComment(member: JsonValue | undefined): string {
  if (!isJsonObject(member)) return "";
  const { description, default: preset } = member;
  const text = typeof description === "string" ? description : "";
  const value = preset === undefined ? undefined : literal(preset);
  const hint = value === undefined || /default/i.test(text) ? "" : ` Default: ${value}`;
  return commentOf(text + hint, MAX_COMMENT_LENGTH);
}

/** Returns the type of one scalar value; `undefined` if it is not a scalar, or too long. */
function literal(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value.length > MAX_VALUE_LENGTH ? undefined : quoted(value);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  return undefined;
}

function union(types: readonly string[]): string {
  const different = [...new Set(types)];
  if (different.length === 0 || different.includes("any")) return "any";
  return different.map((type) => (type.includes(" & ") ? `(${type})` : type)).join(" | ");
}

/**
 * Returns a text of a tool's author as a comment: on one line, cut, and without what could end the comment or a block of
 * code around it. An empty text if there is nothing to say.
 */
function commentOf(text: string, maxLength: number): string {
  const line = text
    .slice(0, 4 * maxLength)
    .replace(/\s+/g, " ")
    .replace(UNPRINTABLE, "\ufffd")
    .replaceAll("*/", "* /")
    .replaceAll("`", "'")
    .trim();
  if (line === "") return "";
  return `/** ${line.length <= maxLength ? line : `${beginning(line, maxLength - 1)}…`} */ `;
}

/** Returns a name as the key of a type: as it is, or quoted. */
function keyOf(name: string): string {
  return IDENTIFIER.test(name) ? name : quoted(name);
}

/** Returns a string literal in which every character can be seen. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(UNPRINTABLE, escapeCharacter).replaceAll("`", "\\u0060");
}

function escapeCharacter(character: string): string {
  let escaped = "";
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
