import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import type { Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { QuickJsImplementation } from "../../../src/tool/implementations/implementations.ts";

/** The grant of a call of a {@link GrantedTool}. */
export interface CallSetting {
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly input?: object;
  readonly sessionId?: string;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** A JavaScript tool whose calls can have different grants. */
export class GrantedTool {
  readonly #sandboxes: Sandboxes;
  readonly #registry = new ToolRegistry();

  constructor(sandboxes: Sandboxes, quickjs: QuickJsImplementation | string) {
    this.#sandboxes = sandboxes;
    const implementation = typeof quickjs === "string" ? { source: quickjs } : quickjs;
    this.#registry.register({ name: "tool", description: "", inputSchema: {}, quickjs: implementation });
  }

  async call({
    capabilities = {},
    limits = {},
    input = {},
    ...more
  }: CallSetting = {}): Promise<ToolExecution> {
    const policy = {
      check: () => allow({ sandbox: "quickjs", capabilities, limits: { wallTimeMs: 5_000, ...limits } }),
    };
    const { sessionId = "s", signal } = more;
    const execution = await new ToolDispatchEngine().dispatch(
      { id: "1", name: "tool", arguments: input as never },
      {
        registry: this.#registry,
        policy,
        sandboxes: this.#sandboxes,
        sessionId,
        ...(signal && { signal }),
      },
    );
    if (execution === null) throw new Error("the hooks abort no call");
    return execution;
  }
}
