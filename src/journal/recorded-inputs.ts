import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { loadCrypto } from "../base/load-crypto.ts";
import type { ToolDefinitionDigest } from "../engine/definition.ts";
import { canonicalText } from "../json/canonical.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import type { PolicySubject, RuntimePolicy } from "../policy/policy.ts";
import { sandboxesOf, type ToolImplementations } from "../tool/implementations/implementations.ts";
import { JournalError, withRemedy } from "./journal-error.ts";
import { replaceFile, syncDirectory } from "./storage/file-writing.ts";
import { readWhole } from "./storage/line-reader.ts";

/** A tool as a policy sees it, as far as its definition says. */
export type JournalTool = Pick<PolicySubject, "name" | "sideEffects" | "tags" | "sandboxes" | "inputSchema">;

/**
 * What decisions depend on besides the calls: policies and definitions of tools. They stand beside the journal in files whose
 * names are the digests of their texts, which the records have, so that a file that was changed is not taken for what it was.
 */
export class RecordedInputs {
  readonly #policies: string;
  readonly #tools: string;

  /** @param directory Of the journal. */
  constructor(directory: string) {
    this.#policies = join(directory, "policies");
    this.#tools = join(directory, "tools");
  }

  /**
   * Stores a policy and the tools that it decides on. Not stored are a policy in code, and a tool of which a file was changed
   * since it was registered.
   *
   * @throws {JournalError} as a rejection, if they cannot be written.
   */
  async store(policy: RuntimePolicy, tools: Iterable<PolicySubject>): Promise<void> {
    for (const source of policy.sources ?? []) {
      await storeFile(this.#policies, loadCrypto().hash("sha256", source), source);
    }
    for (const { definition } of tools) {
      // Only subjects of a registry can be described.
      if (definition === undefined || !("describe" in definition)) continue;
      const text = canonicalText((definition as ToolDefinitionDigest).describe());
      if (loadCrypto().hash("sha256", text) === definition.digest)
        await storeFile(this.#tools, definition.digest, text);
    }
  }

  /** Returns a policy's options; `undefined` if it was not stored, or was changed since. */
  policy(digest: string): Promise<JsonValue | undefined> {
    return readValue(this.#policies, digest);
  }

  /** Returns the tools that were retained, and not changed since, by the digests of their definitions. */
  async tools(): Promise<ReadonlyMap<string, JournalTool>> {
    const tools = new Map<string, JournalTool>();
    for (const name of await readdir(this.#tools).catch(() => [])) {
      const digest = name.replace(/\.json$/, "");
      const tool = journalTool(await readValue(this.#tools, digest));
      if (tool !== undefined) tools.set(digest, tool);
    }
    return tools;
  }
}

/** Returns `undefined` for what is no definition: anybody can add a file whose name is the digest of its text. */
function journalTool(definition: JsonValue | undefined): JournalTool | undefined {
  if (!isJsonObject(definition)) return undefined;
  const { name, sideEffects, tags, inputSchema, implementations } = definition as unknown as JournalTool & {
    readonly implementations: ToolImplementations<never, never>;
  };
  const isTool =
    typeof name === "string" &&
    typeof sideEffects === "string" &&
    (tags === undefined || Array.isArray(tags)) &&
    [inputSchema, implementations].every((each) => isJsonObject(each as JsonValue | undefined));
  if (!isTool) return undefined;
  return { name, sideEffects, ...(tags && { tags }), sandboxes: sandboxesOf(implementations), inputSchema };
}

const DIGEST = /^[0-9a-f]{64}$/;

async function storeFile(directory: string, digest: string, text: string): Promise<void> {
  const path = join(directory, `${digest}.json`);
  if ((await read(directory, digest)) === text) return;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await replaceFile(path, text);
    await syncDirectory(directory);
  } catch (error) {
    throw new JournalError(`the journal cannot keep '${path}': ${withRemedy((error as Error).message)}`);
  }
}

async function read(directory: string, digest: string): Promise<string | undefined> {
  // Digests in a journal can be anything.
  if (!DIGEST.test(digest)) return undefined;
  try {
    return await readWhole(join(directory, `${digest}.json`));
  } catch {
    return undefined;
  }
}

/** Returns the value of a file whose text has the digest; `undefined` if none. */
async function readValue(directory: string, digest: string): Promise<JsonValue | undefined> {
  const text = await read(directory, digest);
  if (text === undefined || loadCrypto().hash("sha256", text) !== digest) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
