import { hash } from "node:crypto";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { compileNamePattern, type NamePattern } from "../../policy/match/name-pattern.ts";
import { SIDE_EFFECTS, type SideEffects, UNDECLARED_SIDE_EFFECTS } from "../../tool/side-effects.ts";

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

/** Which server has which name of a tool. A name that two servers want is given to neither. */
export class ToolNames {
  readonly #owners = new Map<string, string>();
  readonly #contested = new Map<string, string>();

  /** Returns the server that has the name. */
  ownerOf(name: string): string | undefined {
    return this.#owners.get(name);
  }

  /** Returns the servers that want the same name; `undefined` if at most one does. */
  rivalsFor(name: string): string | undefined {
    return this.#contested.get(name);
  }

  give(name: string, server: string): void {
    this.#owners.set(name, server);
  }

  /** A second server wants a name: which of them a call would reach must not depend on which was faster. */
  contest(name: string, one: string, other: string): void {
    this.#owners.delete(name);
    this.#contested.set(name, `'${one}' and '${other}'`);
  }

  free(name: string): void {
    this.#owners.delete(name);
  }
}

/**
 * The classes of imported tools, by patterns of their names, such as `{ "mcp_github_*": "network" }`. The
 * first match applies.
 */
export type ToolClasses = Readonly<Record<string, SideEffects>>;

/** Finds the class of each imported tool. */
export class ImportedClasses {
  readonly #patterns: readonly (readonly [NamePattern, SideEffects])[];

  constructor(classes: ToolClasses = {}) {
    this.#patterns = Object.entries(classes).map(([pattern, sideEffects]) => [
      compileNamePattern(pattern),
      sideEffects,
    ]);
  }

  /**
   * Returns the class of a tool: the configured one, or `destructive`. A hint can only make it
   * stricter, since the server itself chooses its hints.
   *
   * @param name The name under which the tool is registered.
   * @param hints The `annotations` of the tool (MCP, "ToolAnnotations"). Any value.
   */
  classOf(name: string, hints: JsonValue | undefined): SideEffects {
    const configured = this.#patterns.find(([pattern]) => pattern.matches(name))?.[1];
    return stricter(configured ?? UNDECLARED_SIDE_EFFECTS, hintedClass(hints));
  }
}

function hintedClass(hints: JsonValue | undefined): SideEffects {
  if (!isJsonObject(hints)) return "none";
  const { destructiveHint, readOnlyHint } = hints;
  if (destructiveHint === true) return "destructive";
  return readOnlyHint === false ? "write" : "none";
}

function stricter(a: SideEffects, b: SideEffects): SideEffects {
  return SIDE_EFFECTS.indexOf(a) < SIDE_EFFECTS.indexOf(b) ? b : a;
}
