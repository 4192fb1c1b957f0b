import { EventStream } from "../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import type { Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ProcessImplementation } from "../../../src/tool/implementations/process-implementation.ts";

const engine = new ToolDispatchEngine();

/** The call of a program, and what it gets. */
export interface ProgramCall {
  readonly program: ProcessImplementation;
  readonly arguments?: JsonObject;
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly signal?: AbortSignal;
  readonly embedder?: unknown;
  /** Gets what the program streams. */
  readonly onOutput?: (chunk: string) => void;
}

/** Dispatches a call of a tool that is a program. */
export async function runProgram(sandboxes: Sandboxes, call: ProgramCall): Promise<ToolExecution> {
  const { program, arguments: input = {}, capabilities = {}, limits = {}, signal, embedder, onOutput } = call;
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.output") onOutput?.(event.chunk);
  });
  const tool = { name: "run", description: "", inputSchema: { type: "object" }, process: program } as const;
  const execution = await engine.dispatch(
    { id: "c1", name: "run", arguments: input },
    {
      ...(signal && { signal }),
      embedder,
      unhandledErrors: "message",
      events,
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "process", limits, capabilities }) },
      partialOutput: new Redaction(),
      sandboxes,
      sessionId: "s1",
    },
  );
  return execution as ToolExecution;
}
