import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";

/** Returns a header of a request; `null` if it is missing. */
export type HeaderOf = (name: string) => string | null;

/** Deeper members of a schema are not searched. */
const MAX_DEPTH = 16;
/** MCP 2026-07-28: "header mismatch". */
const HEADER_MISMATCH = -32_020;
/** A name of a header (RFC 9110, section 5.1). */
const HEADER = /^[!#$%&'*+.^_`|~\w-]+$/;
const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/**
 * Checks the headers that repeat arguments of a call (`x-mcp-header` in a tool's schema, `Mcp-Param-NAME`): what looked at the
 * headers before must have seen the same values.
 *
 * @param message A message of MCP 2026-07-28. Anything.
 * @param schemaOf Returns the schema of a tool, if there is one.
 * @returns the response that refuses it; `undefined` if it is no call, or all headers match.
 */
export function refuseParamHeaders(
  message: JsonObject,
  headerOf: HeaderOf,
  schemaOf: (name: string) => JsonObject | undefined,
): Response | undefined {
  const { method, params, id = null } = message;
  if (method !== "tools/call" || !isJsonObject(params) || typeof params["name"] !== "string")
    return undefined;
  const schema = schemaOf(params["name"]);
  if (schema === undefined) return undefined;
  for (const { header, value } of declaredHeaders(schema, params["arguments"] ?? {}, 0)) {
    const name = `mcp-param-${header.toLowerCase()}`;
    const given = headerOf(name);
    const expected = value === undefined || value === null ? null : textOf(value);
    if ((given === null ? null : decoded(given)) === expected) continue;
    const error = { code: HEADER_MISMATCH, message: `The header ${name} does not match the argument` };
    return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
  }
  return undefined;
}

interface DeclaredHeader {
  readonly header: string;
  readonly value: JsonValue | undefined;
}

function declaredHeaders(schema: JsonObject, args: JsonValue, depth: number): readonly DeclaredHeader[] {
  const { properties } = schema;
  if (depth > MAX_DEPTH || !isJsonObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, member]) => {
    if (!isJsonObject(member)) return [];
    const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined;
    const { "x-mcp-header": header } = member;
    const own = typeof header === "string" && HEADER.test(header) ? [{ header, value }] : [];
    return [...own, ...declaredHeaders(member, value ?? null, depth + 1)];
  });
}

function textOf(value: JsonValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function decoded(given: string): string {
  const [, encoded] = BASE64.exec(given.trim()) ?? [];
  return encoded === undefined ? given.trim() : Buffer.from(encoded, "base64").toString("utf8");
}
