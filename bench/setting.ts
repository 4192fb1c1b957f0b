import { deepStrictEqual } from "node:assert";
import {
  allow,
  type Capabilities,
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

/** {@link INPUT} as a model sends it. */
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

/** Asserts that a result equals the input. */
export function isInput(answer: unknown): void {
  deepStrictEqual(answer, INPUT);
}

/** Asserts that a dispatch returned the input. */
export function isEcho(execution: unknown): void {
  isInput(outputOf(execution));
}

/** Returns the output of a dispatch. If it failed, returns the execution, so that the assertion shows the reason. */
export function outputOf(execution: unknown): unknown {
  const { success, output } = execution as { readonly success?: boolean; readonly output?: unknown };
  return success ? output : execution;
}

/** How the tool of {@link openEcho} runs. */
export interface EchoOptions {
  readonly capabilities?: Capabilities;
  readonly sandboxes?: SandboxesOptions;
  /** The arguments of the call. Default: {@link INPUT_TEXT}. */
  readonly text?: string;
  readonly schema?: JsonObject;
}

/** Opens a case that dispatches a call of one tool, in new sandboxes with one thread by default. */
export async function openEcho(
  sandbox: SandboxMode,
  implementations: ToolImplementations,
  { capabilities = {}, sandboxes: options, text = INPUT_TEXT, schema = INPUT_SCHEMA }: EchoOptions = {},
): Promise<OpenCase> {
  const tool = { name: "echo", description: "", inputSchema: schema, ...implementations };
  const registry = new ToolRegistry().register(tool);
  const sandboxes = await openSandboxes(options ?? { workers: { threads: 1 } });
  await sandboxes.prepare(tool);
  const decision = allow({ sandbox, capabilities });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "echo", arguments: text };
  return { run: () => engine.dispatch(call, ctx), check: isEcho, close: () => sandboxes.close() };
}
