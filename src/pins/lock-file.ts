import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { isNewerFormat, newerFormatText } from "../base/own-files.ts";
import { ConfigError } from "../config/problem.ts";
import type { DefinitionPins } from "../engine/registered-tool.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { CanonicalJson, canonicalText } from "../json/canonical.ts";
import { parseJson } from "../json/parse.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** The approved definitions: the content of `sandgate.lock`. */
export type DefinitionLock = { readonly [Kind in PinnedKind]: Definitions };

/** Approves only the definitions in a lock. */
export class LockPins implements DefinitionPins {
  readonly #lock: DefinitionLock;

  constructor(lock: DefinitionLock) {
    this.#lock = lock;
  }

  isApproved(name: string, { digest }: { readonly digest: string }): boolean {
    return this.#lock.tools.get(name)?.digest === digest;
  }

  approvedDefinition(name: string): JsonObject | undefined {
    return this.#lock.tools.get(name)?.definition;
  }

  /** Returns whether an MCP server says about itself what was approved. */
  isApprovedServer(name: string, definition: JsonObject): boolean {
    return this.#lock.servers.get(name)?.digest === pinned(definition).digest;
  }
}

/** What is pinned: tools by their names, and the instructions of MCP servers by the servers' names in the config. */
export const PINNED_KINDS = ["tools", "servers"] as const;

/** One of {@link PINNED_KINDS}. */
export type PinnedKind = (typeof PINNED_KINDS)[number];

/** A definition that a person approved. */
export interface PinnedDefinition {
  /** SHA-256 of the definition as canonical JSON (RFC 8785), as 64 hexadecimal digits. */
  readonly digest: string;
  /** Everything that the digest covers, so that a change can be shown. Files stand there as their digests. */
  readonly definition: JsonObject;
}

/** Definitions by name. */
type Definitions = ReadonlyMap<string, PinnedDefinition>;

/** A lock before anything was approved. */
export const NOTHING_APPROVED: DefinitionLock = { tools: new Map(), servers: new Map() };

/** The name of the lock beside a config that names no other. */
export const LOCK_NAME = "sandgate.lock";

const VERSION = 1;

const MAX_BYTES = 64 * 1_024 * 1_024;

const BOUNDS = { length: MAX_BYTES, values: 4_000_000, members: 2_000_000 };

/**
 * Reads a lock.
 *
 * @returns `undefined` if there is no such file.
 * @throws {ConfigError} if it cannot be read, is not a lock, or has a definition that does not match its digest.
 */
export async function readLock(file: string): Promise<DefinitionLock | undefined> {
  const text = await readText(file);
  return text === undefined ? undefined : parseLock(text, file);
}

/**
 * Writes a lock, in the order of names and one member per line, so that a change of one definition changes few lines. The
 * file is replaced as a whole.
 */
export async function writeLock(file: string, lock: DefinitionLock): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    {
      await using handle = await open(temporary, "wx");
      await handle.writeFile(formatLock(lock));
      await handle.sync();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Returns the text of a lock. */
export function formatLock(lock: DefinitionLock): string {
  const kinds = PINNED_KINDS.map((kind) => [kind, Object.fromEntries(sorted(lock[kind]))]);
  return `${JSON.stringify({ lockVersion: VERSION, ...Object.fromEntries(kinds) }, undefined, 2)}\n`;
}

function sorted(definitions: Definitions): readonly (readonly [string, PinnedDefinition])[] {
  return [...definitions]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { digest, definition }]) => [
      name,
      // In canonical order, whatever the order of the members in the server's answer was.
      { digest, definition: JSON.parse(canonicalText(definition)) as JsonObject },
    ]);
}

async function readText(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file);
    const { size } = await handle.stat();
    if (size > MAX_BYTES) throw problem(file, "the lock is longer than 64 MiB");
    return new TextDecoder("utf-8", { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw problem(file, `the lock cannot be read: ${code ?? "unknown reason"}`);
  }
}

function parseLock(text: string, file: string): DefinitionLock {
  const parsed = parseJson(text, BOUNDS);
  if (!("value" in parsed)) throw problem(file, `the lock is not valid JSON: ${parsed.reason}`);
  const { value } = parsed;
  if (!isJsonObject(value)) throw problem(file, "the lock must be an object");
  const { lockVersion } = value;
  if (isNewerFormat(lockVersion, VERSION))
    throw problem(file, `the lock ${newerFormatText(lockVersion, VERSION)}`);
  if (lockVersion !== VERSION) throw problem(file, `lockVersion must be ${VERSION}`);
  const read = (kind: PinnedKind): Definitions => readDefinitions(value[kind], kind, file);
  return { tools: read("tools"), servers: read("servers") };
}

function readDefinitions(value: JsonValue | undefined, kind: PinnedKind, file: string): Definitions {
  if (value === undefined) return new Map();
  if (!isJsonObject(value)) throw problem(file, `${kind} must be an object`);
  return new Map(
    Object.entries(value).map(([name, entry = null]) => {
      const { digest, definition } = isJsonObject(entry) ? entry : {};
      if (typeof digest !== "string" || definition === undefined || !isJsonObject(definition)) {
        throw problem(file, `'${name}' in ${kind} must have a digest and a definition`);
      }
      // What a person reads in a review must be what is approved.
      if (new CanonicalJson(definition).digest !== digest) {
        throw problem(file, `the definition of '${name}' in ${kind} does not match its digest`);
      }
      return [name, { digest, definition }];
    }),
  );
}

function problem(file: string, message: string): ConfigError {
  return new ConfigError([{ file, line: 1, column: 1, severity: "error", message }]);
}

/** Makes the entry of a definition. */
export function pinned(definition: JsonObject): PinnedDefinition {
  return { digest: new CanonicalJson(definition).digest, definition };
}

/**
 * Returns the definitions of the registered tools, whether they are approved or not, as a lock would have them.
 *
 * @param servers What MCP servers say about themselves to the model, by the names of the servers. Default: none.
 */
export function registeredDefinitions(
  registry: ToolRegistry<never>,
  servers: ReadonlyMap<string, JsonObject> = new Map(),
): DefinitionLock {
  const tools = registry.names.flatMap((name): [string, PinnedDefinition][] => {
    const found = registry.find(name);
    return found === undefined ? [] : [[name, pinned(found.definition.describe())]];
  });
  return {
    tools: new Map(tools),
    servers: new Map([...servers].map(([name, definition]) => [name, pinned(definition)])),
  };
}
