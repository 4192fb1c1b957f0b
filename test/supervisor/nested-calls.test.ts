import { afterEach, describe, expect, test } from "vitest";
import { defineTool } from "../../src/engine/tool.ts";
import type { AgentQuotas } from "../../src/policy/agent-capabilities.ts";
import { allow } from "../../src/policy/policy.ts";
import type { SandboxMode } from "../../src/tool/sandbox-mode.ts";
import { type Played, SupervisorScene } from "./scene.ts";

let scene: SupervisorScene;
afterEach(() => scene[Symbol.asyncDispose]());

const names = ["inner", "inner", "inner", "inner", "inner", "missing", "Read"];

/** Calls other tools, and says of each call whether it succeeded. */
const outer = defineTool({
  name: "outer",
  description: "Calls other tools.",
  inputSchema: { type: "object" },
  quickjs: {
    source: `export default async (_input, { tools }) => {
      const ended = [];
      for (const name of ${JSON.stringify(names)})
        ended.push(await tools.call(name, { path: "/etc/passwd" }).then(() => "ok", ({ code }) => code));
      return ended;
    }`,
  },
});

async function play(limits: AgentQuotas): Promise<Played & { readonly ran: number }> {
  let ran = 0;
  scene = await SupervisorScene.open({
    policy: {
      check: ({ tool: { name, sandboxes } }) =>
        allow({
          sandbox: sandboxes[0] as SandboxMode,
          capabilities: name === "outer" ? { tools: ["*"] } : {},
        }),
    },
  });
  scene.registry.register(outer);
  scene.registry.register(
    defineTool({
      name: "inner",
      description: "Counts its calls.",
      inputSchema: { type: "object" },
      host: () => ++ran,
    }),
  );
  const calls = ["outer", "inner"].map((tool) => ({ tool_call_id: tool, tool, args: { of: "the agent" } }));
  const played = await scene.play(`calls=${JSON.stringify(calls)}`, { tools: ["*"], limits });
  return { ...played, ran };
}

describe("A call that the tool of an agent makes", () => {
  test("counts as a call of the agent, by its tool", async () => {
    const { answers, ran } = await play({ callsPerTool: { inner: 3 } });
    expect(ran).toBe(3);
    const ended = ["ok", "ok", "ok", "permission_denied", "permission_denied", "not_found"];
    expect(answers).toMatchObject([
      { ok: true, result: [...ended, "permission_denied"] },
      { ok: false, error: "permission_denied" },
    ]);
  });

  test("counts as a call of the agent, of all tools", async () => {
    const { answers, ran } = await play({ calls: 3 });
    expect(ran).toBe(2);
    expect(answers.map(({ ok }) => ok)).toEqual([true, false]);
  });

  test("is recorded with its own arguments if it is denied, and not with those of the agent's call", async () => {
    const { records } = await play({});
    const denied = records.filter(({ type }) => type === "tool.call.denied");
    expect(denied).toMatchObject([
      { tool: "missing", parent: "outer", slug: "tool_not_found" },
      { tool: "Read", parent: "outer", slug: "permission_denied", args: { path: "/etc/passwd" } },
    ]);
    expect(denied[0]).not.toMatchObject({ args: { of: "the agent" } });
  });
});
