import {
  type Confirm,
  type DispatchContext,
  defineTool,
  HostPolicy,
  openSandboxes,
  Redaction,
  type Sandboxes,
  type SideEffects,
  type ToolCall,
  ToolRegistry,
} from "sandgate";
import { INPUT_SCHEMA, INPUT_TEXT } from "../setting.ts";

/** The tool's name is `echo`. */
export const CALL: ToolCall = { id: "call", name: "echo", arguments: INPUT_TEXT };

/** What sessions and dispatches without a session have in common. */
export interface Parts {
  readonly registry: ToolRegistry;
  readonly policy: HostPolicy;
  readonly sandboxes: Sandboxes;
}

/** Returns a registry with a host function that echoes, a policy that always allows it, and new sandboxes. */
export async function openParts(sideEffects: SideEffects): Promise<Parts> {
  const tool = defineTool({
    name: "echo",
    description: "",
    inputSchema: INPUT_SCHEMA,
    sideEffects,
    host: async (input: unknown) => input,
  });
  const registry = new ToolRegistry().register(tool);
  return { registry, policy: new HostPolicy(), sandboxes: await openSandboxes() };
}

/** The members that a session adds to the context of its calls. */
export function sessionMembers(): Partial<DispatchContext> {
  const confirm: Confirm = async () => ({ decision: "nobody" });
  return {
    turnId: "turn",
    messageId: "turn.1",
    confirm,
    signal: new AbortController().signal,
    partialOutput: new Redaction(),
    unhandledErrors: "redacted",
    timeouts: { quick: 60_000, slow: 600_000 },
  };
}
