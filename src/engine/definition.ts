import type { Hash } from "node:crypto";
import { CanonicalJson } from "../json/canonical.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { withFixedOrder } from "../schema/subschemas.ts";
import { isHostModule, type ToolImplementations } from "../tool/implementations/implementations.ts";
import type { ProcessImplementation } from "../tool/implementations/process-implementation.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../tool/side-effects.ts";
import type { Tool } from "./tool.ts";

/** A tool as it is described to a model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Whether the tool takes a text that is not JSON: see {@link Tool.freeform}. */
  readonly freeform?: true;
}

/** Returns a tool as it is described to a model: a plain object. */
export function toToolDefinition(tool: Tool<never, never>): ToolDefinition {
  const { name, description, inputSchema, freeform } = tool;
  return { name, description, inputSchema, ...(freeform && { freeform }) };
}

/**
 * The definition of a tool: everything that a model or a policy knows about it, and its implementations. Pins and
 * approvals name its digest, so that they do not apply to another definition.
 */
export class ToolDefinitionDigest {
  readonly #tool: Tool<never, never>;
  #digest: string | undefined;

  /** @param tool Frozen, with schemas that cannot change. */
  constructor(tool: Tool<never, never>) {
    this.#tool = tool;
    Object.freeze(this);
  }

  /**
   * SHA-256 of the definition as canonical JSON, as 64 hexadecimal digits. The order of `required`, `enum` and `type` in
   * the schemas does not count. It is computed when it is first read, and then
   * reads the files of the implementations; a file that cannot be read counts as absent. A function of this process has
   * no digest of its own.
   */
  get digest(): string {
    this.#digest ??= new CanonicalJson(this.describe()).digest;
    return this.#digest;
  }

  /** Returns what {@link digest} covers. Files stand there as their digests, which are computed anew. @internal */
  describe(): JsonObject {
    return withoutAbsent(describe(this.#tool));
  }

  toJSON(): { readonly digest: string } {
    return { digest: this.digest };
  }
}

type Described = { readonly [member: string]: unknown };

function describe(tool: Tool<never, never>): Described {
  const { name, title, description, inputSchema, freeform, outputSchema, annotations, tags } = tool;
  const { sideEffects = UNDECLARED_SIDE_EFFECTS } = tool;
  return {
    name,
    title,
    description,
    annotations,
    sideEffects,
    tags,
    inputSchema: withFixedOrder(inputSchema),
    outputSchema: outputSchema && withFixedOrder(outputSchema),
    ...(freeform && { freeform }),
    implementations: describeImplementations(tool),
  };
}

function describeImplementations({
  host,
  wasm,
  quickjs,
  process: program,
  microvm,
  remote,
}: ToolImplementations<never, never>): Described {
  return {
    host:
      host && (isHostModule(host) ? { file: digestOfFile(host.module), export: host.export } : "function"),
    wasm: wasm && {
      component: digestOfComponent(wasm.component),
      tool: wasm.tool,
      export: wasm.export,
      engine: wasm.engine,
    },
    quickjs: quickjs && {
      source: "source" in quickjs && quickjs.source !== undefined ? sha256(quickjs.source) : undefined,
      file: "file" in quickjs && quickjs.file !== undefined ? digestOfFile(quickjs.file) : undefined,
      export: quickjs.export,
    },
    process: program && describeProgram(program),
    microvm: microvm && { ...microvm, image: digestOfDirectory(microvm.image) },
    // URLs and templates, which are short.
    remote,
  };
}

function describeProgram(program: ProcessImplementation): Described {
  return Object.fromEntries(
    Object.entries(program).map(([name, value]) => [name, typeof value === "function" ? "function" : value]),
  );
}

function digestOfComponent(component: string | URL | Uint8Array): string | null {
  return component instanceof Uint8Array ? sha256(component) : digestOfFile(component);
}

function digestOfFile(file: string | URL): string | null {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  try {
    return sha256(readFileSync(typeof file === "string" && file.startsWith("file:") ? new URL(file) : file));
  } catch {
    return null;
  }
}

/** Loads `node:crypto` on first use: that takes half as long as loading this whole package. */
function sha256(data: string | Uint8Array): string {
  return process.getBuiltinModule("node:crypto").hash("sha256", data);
}

/** Makes plain JSON of data that may have absent members and URLs. */
function withoutAbsent(value: Described): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject & JsonValue;
}

/**
 * Returns the SHA-256 of what a directory contains: the paths, kinds and permissions of all entries, the contents of files
 * and the targets of links. `null` if it cannot be read.
 */
function digestOfDirectory(directory: string): string | null {
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha256");
  try {
    addBelow(hash, directory, "");
    return hash.digest("hex");
  } catch {
    return null;
  }
}

function addBelow(hash: Hash, directory: string, parent: string): void {
  const { lstatSync, readdirSync, readFileSync, readlinkSync } = process.getBuiltinModule("node:fs");
  for (const name of readdirSync(`${directory}/${parent}`).sort()) {
    const path = `${parent}${name}`;
    const file = `${directory}/${path}`;
    const status = lstatSync(file);
    let content: string | Uint8Array = "";
    if (status.isFile()) content = readFileSync(file);
    else if (status.isSymbolicLink()) content = readlinkSync(file);
    // The lengths separate the parts of different entries.
    hash.update(JSON.stringify([path, status.mode, Buffer.byteLength(content)]));
    hash.update(content);
    if (status.isDirectory()) addBelow(hash, directory, `${path}/`);
  }
}
