import type { SandboxMode, ToolImplementations } from "sandgate";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import { ECHO_MODULE } from "./piscina-echo.ts";

/** Two tools of a sandbox that runs them in threads. One returns its input, the other one never ends. */
export interface ThreadTools {
  readonly sandbox: SandboxMode;
  readonly echo: ToolImplementations;
  readonly spin: ToolImplementations;
}

const SPIN_MODULE = new URL("../fixtures/spin-worker.mjs", import.meta.url);

/** The tools of each sandbox that runs them in threads. */
export const THREAD_TOOLS: Readonly<Record<string, () => Promise<ThreadTools>>> = {
  "host module": async () => ({
    sandbox: "host",
    echo: { host: { module: ECHO_MODULE } },
    spin: { host: { module: SPIN_MODULE } },
  }),
  QuickJS: async () => ({
    sandbox: "quickjs",
    echo: { quickjs: { source: "export default (input) => input" } },
    spin: { quickjs: { source: "export default () => { for (;;); }" } },
  }),
  Wasm: async () => {
    const component = await contractComponent();
    return {
      sandbox: "wasm",
      echo: { wasm: { component, tool: "echo" } },
      spin: { wasm: { component, tool: "loop" } },
    };
  },
};
