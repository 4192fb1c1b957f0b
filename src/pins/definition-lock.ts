import { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject } from "../json/value.ts";

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
export type Definitions = ReadonlyMap<string, PinnedDefinition>;

/** The approved definitions: the content of `sandgate.lock`. */
export type DefinitionLock = { readonly [Kind in PinnedKind]: Definitions };

/** A lock before anything was approved. */
export const NOTHING_APPROVED: DefinitionLock = { tools: new Map(), servers: new Map() };

/** Makes the entry of a definition. */
export function pinned(definition: JsonObject): PinnedDefinition {
  return { digest: new CanonicalJson(definition).digest, definition };
}
