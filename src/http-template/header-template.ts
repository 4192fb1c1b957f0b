import { headerProblem } from "../base/http-syntax.ts";
import { isJsonObject, type JsonObject } from "../json/value.ts";
import { ArgumentPlaceError, TemplateError } from "./url-template.ts";

/** The header templates of a tool. */
export interface HeaderTemplates {
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
