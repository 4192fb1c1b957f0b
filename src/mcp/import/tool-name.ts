import { hash } from "node:crypto";

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const NOT_ALLOWED = /[^A-Za-z0-9_-]/gu;

/**
 * Returns the name under which a tool of an MCP server is registered: `mcp_<server>_<tool>`, with `_` in place of every
 * character that a provider might refuse. A name over 64 characters is cut, and ends in `_` and 8 hexadecimal digits of the
 * SHA-256 of the whole name, so that it stays the same name.
 */
export function importedToolName(server: string, tool: string): string {
  return wireName(`mcp_${server}_${tool}`);
}

/** Returns a name of a server as providers accept it: see {@link importedToolName}. */
export function wireName(whole: string): string {
  const name = whole.replace(NOT_ALLOWED, "_");
  if (name.length <= MAX_LENGTH) return name;
  const digits = hash("sha256", whole).slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${digits}`;
}
