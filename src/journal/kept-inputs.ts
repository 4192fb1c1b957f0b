import { mkdir, open, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { loadCrypto } from "../base/load-crypto.ts";
import type { ToolDefinitionDigest } from "../engine/definition.ts";
import { canonicalText } from "../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { PolicySubject, RuntimePolicy } from "../policy/policy.ts";
import { sandboxesOf, type ToolImplementations } from "../tool/implementations/implementations.ts";
import { syncDirectory } from "./storage/append-file.ts";

/** A tool as a policy sees it, as far as its definition says. */
export type KeptTool = Pick<PolicySubject, "name" | "sideEffects" | "tags" | "sandboxes" | "inputSchema">;

/**
 * What decisions depend on besides the calls: policies and definitions of tools. They stand beside the journal in files whose
 * names are the digests of their texts, which the records have, so that a file that was changed is not taken for what it was.
 */
export class KeptInputs {
  readonly #policies: string;
  readonly #tools: string;

  /** @param directory Of the journal. */
  constructor(directory: string) {
    this.#policies = join(directory, "policies");
    this.#tools = join(directory, "tools");
  }

  /**
   * Keeps a policy and the tools that it decides on. Not kept are a policy in code, and a tool of which a file was changed
   * since it was registered.
   */
  async keep(policy: RuntimePolicy, tools: Iterable<PolicySubject>): Promise<void> {
    for (const source of policy.sources ?? []) {
      await keepFile(this.#policies, loadCrypto().hash("sha256", source), source);
    }
    for (const { definition } of tools) {
      // A subject that is not of a registry has a digest alone.
      if (definition === undefined || !("describe" in definition)) continue;
      const text = canonicalText((definition as ToolDefinitionDigest).describe());
      if (loadCrypto().hash("sha256", text) === definition.digest)
        await keepFile(this.#tools, definition.digest, text);
    }
  }

  /** Returns a policy's options; `undefined` if it was not kept, or was changed since. */
  policy(digest: string): Promise<JsonValue | undefined> {
    return readValue(this.#policies, digest);
  }

  /** Returns the tools that were kept, and not changed since, by the digests of their definitions. */
  async tools(): Promise<ReadonlyMap<string, KeptTool>> {
    const tools = new Map<string, KeptTool>();
    for (const name of await readdir(this.#tools).catch(() => [])) {
      const digest = name.replace(/\.json$/, "");
      const value = await readValue(this.#tools, digest);
      if (isJsonObject(value)) tools.set(digest, keptTool(value));
    }
    return tools;
  }
}

function keptTool(definition: JsonObject): KeptTool {
  const { name, sideEffects, tags, inputSchema, implementations } = definition as unknown as KeptTool & {
    readonly implementations: ToolImplementations<never, never>;
  };
  return { name, sideEffects, ...(tags && { tags }), sandboxes: sandboxesOf(implementations), inputSchema };
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

/** Returns the value of a file whose text has the digest; `undefined` if there is none. */
async function readValue(directory: string, digest: string): Promise<JsonValue | undefined> {
  const text = await read(directory, digest);
  if (text === undefined || loadCrypto().hash("sha256", text) !== digest) return undefined;
  return JSON.parse(text) as JsonValue;
}
