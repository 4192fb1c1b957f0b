import {
  allow,
  type Capabilities,
  type ProcessImplementation,
  type ResourceLimits,
  type Sandboxes,
  ToolDispatchEngine,
  type ToolExecution,
  ToolRegistry,
} from "sandgate";

/** A program of an attempt, and what it gets. */
export interface Command {
  readonly program: ProcessImplementation;
  readonly limits?: ResourceLimits;
  readonly capabilities?: Capabilities;
  readonly signal?: AbortSignal;
}

/** Dispatches a call of a tool that is a program, with the package as it is built: each call starts processes of it. */
export async function runCommand(
  sandboxes: Sandboxes,
  { program, limits = {}, capabilities = {}, signal }: Command,
): Promise<ToolExecution> {
  const tool = {
    name: "attempt",
    description: "",
    inputSchema: { type: "object" },
    process: program,
  } as const;
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "c1", name: "attempt", arguments: {} },
    {
      ...(signal && { signal }),
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "process", limits, capabilities }) },
      sandboxes,
      sessionId: "escapes",
    },
  );
  return execution as ToolExecution;
}
