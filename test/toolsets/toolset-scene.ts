import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { JsonObject } from "../../src/json/value.ts";
import type { Capabilities } from "../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../src/policy/grant/limits.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes, type Sandboxes, type SandboxesOptions } from "../../src/sandboxes/open-sandboxes.ts";
import type { Isolation, SandboxMode } from "../../src/tool/sandbox-mode.ts";
import { type ToolsetName, type ToolsetOptions, toolsOf } from "../../src/toolsets/toolsets.ts";
import { TOOLSET_OPTIONS } from "./toolset-table.ts";

/** What a call of a {@link ToolsetScene} is granted. Default for `fs`: the workspace, with `write`. */
interface SceneGrant extends Capabilities {
  readonly limits?: ResourceLimits;
  /** Default: the first in which the tool can run. */
  readonly sandbox?: SandboxMode;
}

/** Options of sandboxes in which programs are confined in one way. Default: the best that there is. */
export function withIsolation(isolation: Isolation | undefined): SandboxesOptions {
  return isolation === undefined ? {} : { process: { isolation } };
}

/** A toolset whose calls all run, each in the first sandbox of its tool, with a workspace of its own. */
export class ToolsetScene<Name extends ToolsetName> implements AsyncDisposable {
  readonly workspace: string = realpathSync(mkdtempSync(join(tmpdir(), "toolset-")));
  readonly registry: ToolRegistry = new ToolRegistry();
  readonly sandboxes: Sandboxes;
  readonly #grant: SceneGrant;
  #calls = 0;

  private constructor(sandboxes: Sandboxes, name: Name, grant: SceneGrant, options: ToolsetOptions[Name]) {
    this.sandboxes = sandboxes;
    this.#grant = grant;
    for (const tool of toolsOf(name, options)) this.registry.register(tool);
  }

  static async open<Name extends ToolsetName>(
    name: Name,
    grant: SceneGrant = {},
    options: ToolsetOptions[Name] = TOOLSET_OPTIONS[name],
    sandboxes: SandboxesOptions = {},
  ): Promise<ToolsetScene<Name>> {
    return new ToolsetScene(await openSandboxes(sandboxes), name, grant, options);
  }

  /** Dispatches a call. */
  call(name: string, args: JsonObject, more: Partial<DispatchContext> = {}): Promise<ToolExecution> {
    return this.callWith(this.#grant, name, args, more);
  }

  /** Dispatches a call with a grant of its own. */
  async callWith(
    grant: SceneGrant,
    name: string,
    args: JsonObject,
    more: Partial<DispatchContext> = {},
  ): Promise<ToolExecution> {
    const { limits = {}, sandbox: chosen, ...capabilities } = grant;
    const fs = [{ directory: this.workspace, write: true }];
    const execution = await new ToolDispatchEngine().dispatch(
      { id: `${++this.#calls}`, name, arguments: args },
      {
        registry: this.registry,
        policy: {
          check: ({ tool }) => {
            const [first = "host"] = tool.sandboxes;
            const sandbox = chosen ?? first;
            const usesFiles = sandbox === "process" || this.registry.get(name).usesFiles;
            return allow({ sandbox, capabilities: { ...(usesFiles && { fs }), ...capabilities }, limits });
          },
        },
        sandboxes: this.sandboxes,
        sessionId: "session",
        workspace: this.workspace,
        confirm: async () => ({ decision: "allow", by: "ada" }),
        ...more,
      },
    );
    if (execution === null) throw new Error("the call was aborted");
    return execution;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandboxes.close();
    rmSync(this.workspace, { recursive: true, force: true });
  }
}
