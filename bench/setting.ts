import { deepStrictEqual } from "node:assert";
import {
  allow,
  defineTool,
  type JsonObject,
  openSandboxes,
  type ResourceLimits,
  type SandboxMode,
  ToolDispatchEngine,
  type ToolImplementations,
  ToolRegistry,
} from "sandgate";
import type { Case } from "./measure.ts";

/** The input of every benchmark: a small call, as models make them. */
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

/** A case that dispatches a call of an echo tool, and what closes its sandboxes. */
export async function dispatchCase(
  name: string,
  sandbox: SandboxMode,
  implementations: ToolImplementations,
  limits: ResourceLimits = {},
): Promise<{ readonly case: Case; close(): Promise<void> }> {
  const tool = defineTool({ name: "echo", description: "", inputSchema: INPUT_SCHEMA, ...implementations });
  const registry = new ToolRegistry().register(tool);
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  await sandboxes.prepare(tool);
  const decision = allow({ sandbox, limits });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "echo", arguments: INPUT_TEXT };
  return {
    case: {
      name,
      run: () => engine.dispatch(call, ctx),
      check: (execution) => isInput((execution as { output?: unknown } | null)?.output),
    },
    close: () => sandboxes.close(),
  };
}
