import type { DispatchContext } from "../../src/engine/call/context.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { toToolResult } from "../../src/engine/call/messages.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import type { GrantOptions } from "../../src/policy/grant/execution-grant.ts";
import { allow, type PolicyDecision, type PolicyRequest } from "../../src/policy/policy.ts";
import type { ProgramOptions } from "../../src/programs/program-tools.ts";
import { registerPrograms } from "../../src/programs/program-tools.ts";
import type { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { contentText } from "../../src/tool/content.ts";

/** What a test says about its programs. */
export interface ProgramSetting {
  readonly tools?: readonly Tool[];
  readonly options?: ProgramOptions;
  /** The decisions on calls of tools besides `run_program`. Default: they are allowed. */
  readonly decide?: (request: PolicyRequest) => PolicyDecision | undefined;
  /** The patterns of the tools that programs may call. Default: all. */
  readonly granted?: readonly string[];
  readonly limits?: GrantOptions["limits"];
  readonly more?: Partial<DispatchContext>;
}

/** Returns a host tool that takes any object. */
export function tool(name: string, host: (input: JsonObject) => unknown, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `The tool ${name}`,
    sideEffects: "none",
    inputSchema: { type: "object" },
    host: host as never,
    ...more,
  };
}

/** Registers tools and the toolset `programs`, and dispatches calls of them. */
export class Programs {
  readonly registry: ToolRegistry = new ToolRegistry();
  readonly context: DispatchContext;

  constructor(
    sandboxes: Awaited<ReturnType<typeof openSandboxes>>,
    { tools = [], options, decide, granted = ["*"], limits = {}, more = {} }: ProgramSetting = {},
  ) {
    for (const each of tools) this.registry.register(each);
    registerPrograms(this.registry, options);
    const policy = {
      check: (request: PolicyRequest): PolicyDecision =>
        decide?.(request) ??
        (request.tool.sandboxes[0] === "quickjs"
          ? allow({ sandbox: "quickjs", limits, capabilities: { tools: granted } })
          : allow({ sandbox: "host" })),
    };
    this.context = { registry: this.registry, policy, sandboxes, sessionId: "session", ...more };
  }

  /** Dispatches a call of the model. */
  async call(name: string, input: JsonObject): Promise<ToolExecution> {
    const call = { id: "call", name, arguments: input };
    const execution = await new ToolDispatchEngine().dispatch(call, this.context);
    if (execution === null) throw new Error("a hook aborted the call");
    return execution;
  }

  run(code: string, language: "js" | "ts" = "js"): Promise<ToolExecution> {
    return this.call("run_program", { code, language });
  }
}

/** What the model reads of an execution. */
export function textOf(execution: ToolExecution): string {
  return contentText(toToolResult(execution).content);
}
