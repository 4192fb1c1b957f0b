import { mkdir, open, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { loadCrypto } from "../base/load-crypto.ts";
import { canonicalText } from "../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { PolicySubject, RuntimePolicy } from "../policy/policy.ts";
import { syncDirectory } from "./storage/append-file.ts";

/** A tool as a policy sees it, as it is kept. */
export type KeptTool = Pick<PolicySubject, "name" | "sideEffects" | "tags" | "sandboxes" | "inputSchema">;

/** What decisions depend on besides the calls: policies and tools, kept by their digests beside the journal. */
export class KeptInputs {
  readonly #policies: string;
  readonly #tools: string;

  /** @param directory Of the journal. */
  constructor(directory: string) {
    this.#policies = join(directory, "policies");
    this.#tools = join(directory, "tools");
  }

  /** Keeps a policy and the tools that it decides on. A policy in code is not kept. */
  async keep(policy: RuntimePolicy, tools: Iterable<PolicySubject>): Promise<void> {
    for (const source of policy.sources ?? []) {
      await keepFile(this.#policies, loadCrypto().hash("sha256", source), source);
    }
    for (const { definition, name, sideEffects, tags, sandboxes, inputSchema } of tools) {
      if (definition === undefined) continue;
      const kept = { name, sideEffects, ...(tags && { tags }), sandboxes, inputSchema };
      await keepFile(this.#tools, definition.digest, canonicalText(kept));
    }
  }

  /** Returns a policy's options; `undefined` if it was not kept, or was changed since. */
  async policy(digest: string): Promise<JsonValue | undefined> {
    const text = await read(this.#policies, digest);
    return text === undefined || loadCrypto().hash("sha256", text) !== digest ? undefined : parse(text);
  }

  /** Returns the tools that were kept, by the digests of their definitions. */
  async tools(): Promise<ReadonlyMap<string, KeptTool>> {
    const tools = new Map<string, KeptTool>();
    for (const name of await readdir(this.#tools).catch(() => [])) {
      const digest = name.replace(/\.json$/, "");
      const text = await read(this.#tools, digest);
      const value = text === undefined ? undefined : parse(text);
      if (isJsonObject(value)) tools.set(digest, value as JsonObject as unknown as KeptTool);
    }
    return tools;
  }
}

const DIGEST = /^[0-9a-f]{64}$/;

async function keepFile(directory: string, digest: string, text: string): Promise<void> {
  const path = join(directory, `${digest}.json`);
  if ((await read(directory, digest)) === text) return;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const part = `${path}.part`;
  {
    await using file = await open(part, "w", 0o600);
    await file.writeFile(text);
    await file.datasync();
  }
  await rename(part, path);
  await syncDirectory(directory);
}

async function read(directory: string, digest: string): Promise<string | undefined> {
  // Digests in a journal can be anything.
  if (!DIGEST.test(digest)) return undefined;
  try {
    return await readFile(join(directory, `${digest}.json`), "utf8");
  } catch {
    return undefined;
  }
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
