import { type PrimitiveValue, parseTemplate } from "url-template";
import type { JsonObject, JsonValue } from "../json/value.ts";

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
