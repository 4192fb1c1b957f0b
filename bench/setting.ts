import { deepStrictEqual } from "node:assert";
import {
  allow,
  type Capabilities,
  defineTool,
  type JsonObject,
  openSandboxes,
  type SandboxesOptions,
  type SandboxMode,
  ToolDispatchEngine,
  type ToolImplementations,
  ToolRegistry,
} from "sandgate";
import type { OpenCase } from "./harness/case.ts";

/** The input of nearly every benchmark: a small call, as models make them. */
export const INPUT: JsonObject = { path: "src/index.ts", lines: [1, 20], follow: false };

/** The same as a model sends it. */
export const INPUT_TEXT: string = JSON.stringify(INPUT);

/** The schema of {@link INPUT}. */
export const INPUT_SCHEMA: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string" },
    lines: { type: "array", items: { type: "integer" } },
    follow: { type: "boolean" },
  },
  required: ["path"],
  additionalProperties: false,
};

/** Checks that an answer is the input itself. */
export function isInput(answer: unknown): void {
  deepStrictEqual(answer, INPUT);
}

/** Checks that a dispatch gave the input back. */
export function isEcho(execution: unknown): void {
  isInput(outputOf(execution));
}

/** What a dispatch gave; the execution itself when it failed, so that a message shows why. */
export function outputOf(execution: unknown): unknown {
  const { success, output } = execution as { readonly success?: boolean; readonly output?: unknown };
  return success ? output : execution;
}

/** How the tool of {@link openEcho} runs. */
export interface EchoOptions {
  readonly capabilities?: Capabilities;
  readonly sandboxes?: SandboxesOptions;
  /** What it is called with. Default: {@link INPUT_TEXT}. */
  readonly text?: string;
  readonly schema?: JsonObject;
}

/** Opens the dispatch of a call of one tool, in sandboxes of its own: with one thread, unless it is told so. */
export async function openEcho(
  sandbox: SandboxMode,
  implementations: ToolImplementations,
  { capabilities = {}, sandboxes: options, text = INPUT_TEXT, schema = INPUT_SCHEMA }: EchoOptions = {},
): Promise<OpenCase> {
  const tool = defineTool({ name: "echo", description: "", inputSchema: schema, ...implementations });
  const registry = new ToolRegistry().register(tool);
  const sandboxes = await openSandboxes(options ?? { workers: { threads: 1 } });
  await sandboxes.prepare(tool);
  const decision = allow({ sandbox, capabilities });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "echo", arguments: text };
  return { run: () => engine.dispatch(call, ctx), check: isEcho, close: () => sandboxes.close() };
}
