import { randomUUID } from "node:crypto";
import { type PrimitiveValue, parseTemplate } from "url-template";
import { headerProblem } from "../base/http-syntax.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

type BodyFormat = "json" | "form" | "multipart";

/** How bodies of requests are written. */
export const BODY_FORMATS: readonly BodyFormat[] = ["json", "form", "multipart"];

const WHOLE_PLACE = /^\{([\w.-]+)\}$/;

/** The header templates of a tool. */
interface HeaderTemplates {
  /** The names of the arguments that they use. */
  readonly variables: ReadonlySet<string>;
  /** The names of the secrets that they use. */
  readonly secrets: readonly string[];
  /** The names, in lower case, of the headers that contain a secret. */
  readonly credentialHeaders: readonly string[];
  /**
   * Returns the headers of a call. A header whose argument is null or missing is left out.
   *
   * @throws {ArgumentPlaceError} if an argument cannot be sent in a header.
   */
  expand(input: JsonObject, secrets: ReadonlyMap<string, string>): Record<string, string>;
}

/** A piece of a header's value. */
type Piece = { readonly literal: string } | { readonly argument: string } | { readonly secret: string };

interface HeaderTemplate {
  readonly name: string;
  readonly pieces: readonly Piece[];
}

const PLACE = /\{(?:secret:([\w.-]+)|([\w.-]+))\}/;

/** A template is not valid. `message` names the part and the reason, for the person who registers the tool. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** An argument cannot be inserted into a template. `message` is for the model. */
export class ArgumentPlaceError extends Error {
  override readonly name = "ArgumentPlaceError";
}

/** The values of a URI template: primitives, lists of primitives and maps of primitives. */
type Expandable = PrimitiveValue | PrimitiveValue[] | Record<string, PrimitiveValue>;

/** A URL template. */
export interface UrlTemplate {
  /** The origin of every URL. */
  readonly origin: string;
  /** The names of the arguments that it uses. */
  readonly variables: ReadonlySet<string>;
  /**
   * Returns the URL for the arguments of a call.
   *
   * @throws {ArgumentPlaceError} if a required argument is missing, or one would change the rest of the URL.
   */
  expand(input: JsonObject): string | URL;
}

/** Scheme and authority, followed by the end, a path, a query, or an expression that starts one of them. */
const AUTHORITY = /^https?:\/\/[^/?#{}\\\s]+(?=$|\/|\?|\{\/|\{\?)/i;

/** One expression (RFC 6570, section 2.2): an operator, then variables with modifiers. */
const EXPRESSION = /^\{([./;?&]?)([\w.-]+(?:\*|:[1-9]\d{0,3})?(?:,[\w.-]+(?:\*|:[1-9]\d{0,3})?)*)\}$/;

/**
 * Compiles the template of a URL (RFC 6570). The value of an argument cannot change the rest of the URL: the
 * operators `+` and `#`, which insert reserved characters as they are, and expressions in the scheme, the host or
 * the port are refused.
 *
 * @throws {TemplateError} if the template is not valid.
 */
export function compileUrl(text: unknown): UrlTemplate {
  if (typeof text !== "string") throw new TemplateError("url must be a string");
  const authority = AUTHORITY.exec(text)?.[0];
  if (authority === undefined) {
    throw new TemplateError("url must begin with http:// or https:// and a host, both without expressions");
  }
  const host = parseHttpUrl(authority);
  if (typeof host === "string") throw new TemplateError(host);
  const { origin } = host;
  if (text.includes("#")) throw new TemplateError("url must not have a fragment, since it would not be sent");
  const expressions = readExpressions(text);
  const variables = new Set(expressions.flatMap(({ names }) => names));
  const [path = ""] = text.split(/\?|\{\?/, 1);
  if (hasDotSegment(path.replace(/\{[^{}]*\}/g, "x")))
    throw new TemplateError("url must not contain '.' or '..' segments");
  // These must not be empty: a path with an empty segment may name another resource.
  const needed = readExpressions(path).flatMap(({ operator, names }) => (operator === "" ? names : []));
  if (variables.size === 0) {
    const url = new URL(text);
    return { origin, variables, expand: () => url };
  }
  const template = parseTemplate(text);
  return {
    origin,
    variables,
    expand: (input) => {
      const expanded = expand(template, valuesOf(variables, needed, input));
      const [expandedPath = ""] = expanded.split("?", 1);
      if (hasDotSegment(expandedPath)) {
        throw new ArgumentPlaceError("the arguments must not add '.' or '..' segments to the tool's URL");
      }
      return expanded;
    },
  };
}

function readExpressions(text: string): { readonly operator: string; readonly names: readonly string[] }[] {
  const found = text.match(/\{[^{}]*\}/g) ?? [];
  if (/[{}]/.test(text.replaceAll(/\{[^{}]*\}/g, ""))) {
    throw new TemplateError("url has an unmatched brace");
  }
  return found.map((expression) => {
    const [, operator = "", list] = EXPRESSION.exec(expression) ?? [];
    if (list === undefined) {
      throw new TemplateError(
        `url has the expression '${expression}': it must name arguments without the operators '+' and '#', ` +
          "whose values could change the rest of the URL (for several path segments use {/name*} with a list)",
      );
    }
    return { operator, names: list.split(",").map((name) => name.replace(/\*$|:\d+$/, "")) };
  });
}

/** The arguments that a template uses: own members that are not null. */
function valuesOf(
  variables: ReadonlySet<string>,
  needed: readonly string[],
  input: JsonObject,
): Record<string, Expandable> {
  const values: Record<string, Expandable> = Object.create(null);
  for (const name of variables) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || value === null) continue;
    if (!isExpandable(value)) {
      throw new ArgumentPlaceError(`the argument '${name}' cannot be inserted into the tool's URL`);
    }
    values[name] = value;
  }
  for (const name of needed) {
    if (isEmpty(values[name])) {
      throw new ArgumentPlaceError(`the argument '${name}' must not be empty: it is part of the tool's URL`);
    }
  }
  return values;
}

function isExpandable(value: JsonValue): value is Expandable {
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every((one) => typeof one !== "object" || one === null);
}

/** Whether a value expands to nothing. */
function isEmpty(value: Expandable | undefined): boolean {
  if (typeof value !== "object" || value === null) return value === undefined || value === "";
  return Object.values(value).every((one) => one === null || one === "");
}

function expand(template: ReturnType<typeof parseTemplate>, values: Record<string, Expandable>): string {
  try {
    return template.expand(values);
  } catch {
    // A prefix modifier (`{name:3}`) split a surrogate pair.
    throw new ArgumentPlaceError("the arguments cannot be inserted into the tool's URL");
  }
}

/** Whether a path has a `.` or `..` segment, in any spelling that a proxy or server may decode. */
function hasDotSegment(path: string): boolean {
  if (!path.includes(".") && !/%2e/i.test(path)) return false;
  return path
    .replace(/%2e/gi, ".")
    .split(/[/\\]|%2f|%5c/i)
    .some((segment) => /^\.\.?(?:;|%3b|$)/i.test(segment));
}

/** Parses the `url` of an endpoint: an absolute `http:` or `https:` URL. Returns the problem if it is not one. */
export function parseHttpUrl(url: unknown): URL | string {
  if (typeof url !== "string" && !(url instanceof URL)) return "url must be a string or a URL";
  if (!URL.canParse(String(url))) return "url must be an absolute URL";
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return "url must be http: or https:";
  // Credentials would be sent with every request, and shown wherever the URL is.
  if (parsed.username !== "" || parsed.password !== "") return "url must not contain credentials";
  return parsed;
}

/**
 * Compiles the templates of headers.
 *
 * @throws {TemplateError} if one of them is not valid.
 */
export function compileHeaders(headers: unknown): HeaderTemplates {
  if (!isJsonObject(headers)) throw new TemplateError("headers must be a map of strings");
  const templates = Object.entries(headers).map(([name, value]) => compileHeader(name, value));
  const pieces = templates.flatMap((template) => template.pieces);
  return {
    variables: new Set(pieces.flatMap((piece) => ("argument" in piece ? [piece.argument] : []))),
    secrets: [...new Set(pieces.flatMap((piece) => ("secret" in piece ? [piece.secret] : [])))],
    credentialHeaders: templates
      .filter((template) => template.pieces.some((piece) => "secret" in piece))
      .map(({ name }) => name.toLowerCase()),
    expand: (input, secrets) => {
      const expanded: Record<string, string> = {};
      for (const { name, pieces: parts } of templates) {
        const value = expandHeader(parts, input, secrets);
        if (value !== undefined) expanded[name] = value;
      }
      return expanded;
    },
  };
}

function compileHeader(name: string, value: unknown): HeaderTemplate {
  if (typeof value !== "string") throw new TemplateError(`headers: '${name}' must be a string`);
  const problem = headerProblem(name, value);
  if (problem !== undefined) throw new TemplateError(`headers: ${problem}`);
  const pieces: Piece[] = [];
  // `split` returns triples: a literal, the name of a secret, the name of an argument.
  const parts = value.split(PLACE);
  for (let i = 0; i < parts.length; i += 3) {
    const [literal = "", secret, argument] = parts.slice(i, i + 3);
    if (/[{}]/.test(literal)) {
      throw new TemplateError(`headers: '${name}' has a brace that is not part of {name} or {secret:NAME}`);
    }
    if (literal !== "") pieces.push({ literal });
    if (secret !== undefined) pieces.push({ secret });
    if (argument !== undefined) pieces.push({ argument });
  }
  return { name, pieces };
}

function expandHeader(
  pieces: readonly Piece[],
  input: JsonObject,
  secrets: ReadonlyMap<string, string>,
): string | undefined {
  let value = "";
  for (const piece of pieces) {
    if ("literal" in piece) value += piece.literal;
    else if ("secret" in piece) value += secrets.get(piece.secret) ?? "";
    else {
      const argument = Object.hasOwn(input, piece.argument) ? input[piece.argument] : undefined;
      if (argument === undefined || argument === null) return undefined;
      const text = String(argument);
      if (typeof argument === "object" || headerProblem("x", text) !== undefined) {
        throw new ArgumentPlaceError(`the argument '${piece.argument}' cannot be sent in a header`);
      }
      value += text;
    }
  }
  return value;
}

/**
 * Fills a body template: a string `{name}` is replaced by that argument, of any type. A member or an item whose
 * argument is missing is left out. Other strings are not changed.
 */
export function fillBody(template: JsonValue, input: JsonObject): JsonValue | undefined {
  if (typeof template === "string") {
    const name = WHOLE_PLACE.exec(template)?.[1];
    if (name === undefined) return template;
    return Object.hasOwn(input, name) ? input[name] : undefined;
  }
  if (Array.isArray(template)) {
    return (template as readonly JsonValue[])
      .map((item) => fillBody(item, input))
      .filter((item) => item !== undefined);
  }
  if (!isJsonObject(template)) return template;
  const filled: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(template)) {
    const value = member === undefined ? undefined : fillBody(member, input);
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

/** The names of the arguments that a template of {@link fillBody} uses. */
export function placesIn(template: JsonValue | undefined): ReadonlySet<string> {
  if (typeof template === "string") return new Set(WHOLE_PLACE.exec(template)?.slice(1));
  if (typeof template !== "object" || template === null) return new Set();
  return new Set(Object.values(template).flatMap((each) => [...placesIn(each)]));
}

/** A name and a value of a query or a form. */
type Field = readonly [name: string, value: string];

/**
 * Returns the fields of a query or a form: `a=1`, `a=1&a=2` for a list, `a[b]=1` for a map, `a[0][b]=1` for a list of maps. What is
 * null is left out.
 *
 * @throws {ArgumentPlaceError} if a text has half a surrogate pair.
 */
function fieldsOf(values: JsonObject): Field[] {
  return Object.entries(values).flatMap(([name, value = null]) =>
    Array.isArray(value) && value.every((item: JsonValue) => typeof item !== "object" || item === null)
      ? value.flatMap((item: JsonValue) => nestedFields(name, item))
      : nestedFields(name, value),
  );
}

function nestedFields(name: string, value: JsonValue): Field[] {
  if (value === null) return [];
  if (typeof value === "object")
    return Object.entries(value).flatMap(([step, member = null]) => nestedFields(`${name}[${step}]`, member));
  return [[sendable(name), sendable(String(value))]];
}

function sendable(text: string): string {
  if (text.isWellFormed()) return text;
  throw new ArgumentPlaceError("a query or a form cannot have half a surrogate pair");
}

/**
 * Adds values to the query of a URL, with the names and values percent-encoded.
 *
 * @throws {ArgumentPlaceError} if a value cannot be sent.
 */
export function withQuery(url: string | URL, values: JsonObject): string | URL {
  const pairs = fieldsOf(values).map((field) => field.map(encodeStrictly).join("="));
  if (pairs.length === 0) return url;
  const text = String(url);
  return `${text}${text.includes("?") ? "&" : "?"}${pairs.join("&")}`;
}

/** Percent-encodes everything but the unreserved characters of RFC 3986. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A body, and the header that it needs unless the tool sets it. */
export interface WrittenBody {
  readonly text: string;
  readonly contentType: string;
}

/**
 * Writes a body in one of {@link BODY_FORMATS}.
 *
 * @throws {ArgumentPlaceError} if it cannot be written in this format.
 */
export function writeBody(body: JsonValue, format: BodyFormat): WrittenBody {
  if (format === "json") return { text: JSON.stringify(body), contentType: "application/json" };
  if (!isJsonObject(body)) throw new ArgumentPlaceError("a form must be a map of its fields");
  if (format === "form") {
    const text = String(new URLSearchParams(fieldsOf(body).map(([name, value]) => [name, value])));
    return { text, contentType: "application/x-www-form-urlencoded" };
  }
  // Random, so that no argument can end its part.
  const boundary = `sandgate-${randomUUID()}`;
  const parts = Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as JsonValue[]) : [value ?? null]).flatMap((item) =>
      item === null ? [] : partOf(name, item),
    ),
  );
  return {
    text: `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join("")}--${boundary}--\r\n`,
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

/** A part of a multipart form: maps and lists as JSON, anything else as a text. */
function partOf(name: string, value: JsonValue): string {
  // As browsers write names (HTML, "Multipart form data").
  const escaped = sendable(name).replace(/["\r\n]/g, encodeURIComponent);
  const isText = typeof value !== "object";
  const type = isText ? "" : "content-type: application/json\r\n";
  const text = isText ? sendable(String(value)) : JSON.stringify(value);
  return `content-disposition: form-data; name="${escaped}"\r\n${type}\r\n${text}`;
}

/** The arguments whose names are not in `used`. */
export function restOf(input: JsonObject, used: ReadonlySet<string>): JsonObject {
  if (used.size === 0) return input;
  return Object.fromEntries(Object.entries(input).filter(([name]) => !used.has(name)));
}
