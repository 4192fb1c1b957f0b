import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { Sdk } from "../load-sdk.ts";

/** Deeper members of a schema are not searched. */
const MAX_DEPTH = 16;
/** MCP 2026-07-28: "header mismatch". */
const HEADER_MISMATCH = -32_020;
const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/**
 * Checks the headers that repeat arguments (`x-mcp-header` in a tool's schema, `Mcp-Param-NAME`): what looked at the headers
 * before must have seen the same values.
 *
 * @throws `-32020` of the SDK if a header is missing, or has another value than the argument.
 */
export function checkParamHeaders(
  sdk: Sdk,
  schema: JsonObject | undefined,
  args: JsonValue,
  headers: Headers | undefined,
): void {
  if (schema === undefined || headers === undefined) return;
  for (const { header, value } of declaredHeaders(schema, args, 0)) {
    const name = `mcp-param-${header.toLowerCase()}`;
    const given = headers.get(name);
    const expected = value === undefined || value === null ? null : textOf(value);
    if ((given === null ? null : decoded(given)) === expected) continue;
    const message = `The header ${name} does not match the argument`;
    throw new sdk.ProtocolError(HEADER_MISMATCH, message, { header: name });
  }
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
    const own = typeof header === "string" ? [{ header, value }] : [];
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
