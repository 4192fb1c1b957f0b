import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { programTools } from "../../../src/programs/program-tools.ts";
import type { Server } from "../../../src/server/server.ts";
import { connect, PEERS, type PeerClient, type Person, startMcpServer } from "./harness.ts";

const policy = new RulePolicy({
  rules: [
    {
      tools: ["run_program"],
      effect: "allow",
      sandboxes: ["quickjs"],
      capabilities: { tools: ["*"] },
    },
    {
      tools: ["add", "pay", "search_tools", "describe_tools"],
      effect: "allow",
      sandboxes: ["host"],
    },
    { tools: ["wipe"], effect: "deny" },
  ],
});

/** A server with the toolset `programs`. Returns it, and what was paid. */
async function start(): Promise<{ readonly server: Server; readonly paid: unknown[] }> {
  const paid: unknown[] = [];
  const tool = (name: string, sideEffects: "none" | "write", host: (input: never) => unknown): Tool =>
    ({ name, description: `Can ${name}.`, inputSchema: { type: "object" }, sideEffects, host }) as Tool;
  const tools = [
    tool("add", "none", ({ a, b }: { a: number; b: number }) => a + b),
    tool("pay", "write", (input) => {
      paid.push(input);
      return "paid";
    }),
    tool("wipe", "write", () => null),
  ];
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  const server = await startMcpServer(
    [...tools, ...programTools(registry)],
    { confirm: "elicitation" },
    { policy, sessions: { mode: "cautious", confirmations: { tools: { run_program: "auto" } } } },
  );
  return { server, paid };
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

async function runProgram(client: PeerClient, code: string): Promise<{ text: string; isError: boolean }> {
  const result = (await client.callTool({ name: "run_program", arguments: { code } })) as Result;
  return { text: result.content.map(({ text }) => text).join("\n"), isError: result.isError === true };
}

/** A person who answers every form with the only value of each member that allows. */
function person(answer: "allow" | "deny", seen: string[]): Person {
  return ({ message, requestedSchema }) => {
    seen.push(String(message));
    const [[name = ""] = []] = Object.entries((requestedSchema as { properties: object }).properties);
    return { action: "accept", content: { [name]: answer } };
  };
}

describe.each(PEERS)("A client of MCP (%s)", (peer) => {
  test("sees run_program as the destructive tool that it is, and runs a program with it", async () => {
    const { server } = await start();
    const client = await connect(server, peer);
    const { tools } = (await client.listTools()) as {
      readonly tools: readonly { name: string; annotations?: object; inputSchema: object }[];
    };
    expect(tools.map(({ name }) => name)).toContain("search_tools");
    expect(tools.find(({ name }) => name === "run_program")).toMatchObject({
      inputSchema: { required: ["code"] },
      annotations: { readOnlyHint: false },
    });
    const code = "const sums = await Promise.all([1, 2].map((a) => tools.add({ a, b: a }))); return sums;";
    expect(await runProgram(client, code)).toEqual({
      isError: false,
      text: "[2,4]\nCalls made:\n- add: allowed, effect none\n- add: allowed, effect none",
    });
  });

  test("reads what is wrong with a program, and why a call of one was denied", async () => {
    const { server } = await start();
    const client = await connect(server, peer);
    expect(await runProgram(client, "tools.ad({ a: 1 })")).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^Invalid arguments: \/code 1:1: Tool 'ad' not found/),
    });
    expect(await runProgram(client, "tools.wipe({}).catch(({ code }) => code)")).toMatchObject({
      isError: false,
      text: expect.stringMatching(
        /^permission_denied\nLog:\n.+\nCalls made:\n- wipe: denied, failed \(permission_denied\), effect none$/,
      ),
    });
  });

  test("finds tools with a program", async () => {
    const { server } = await start();
    const { text } = await runProgram(
      await connect(server, peer),
      `(await tools.search_tools({ query: "pay" })).map(({ name }) => name)`,
    );
    expect(text).toContain('["pay"]');
  });

  test("has its person confirm a call of a program, once", async () => {
    const { server, paid } = await start();
    const seen: string[] = [];
    const client = await connect(server, peer, { person: person("allow", seen) });
    const { text } = await runProgram(client, `return tools.pay({ to: "x" });`);
    expect(text).toMatch(/^"?paid"?\nCalls made:\n- pay: allowed by .+, effect committed$/);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain("pay");
    expect(paid).toEqual([{ to: "x" }]);
  });

  test("has its person deny a call of a program, which then does not run", async () => {
    const { server, paid } = await start();
    const client = await connect(server, peer, { person: person("deny", []) });
    const { text } = await runProgram(client, `return tools.pay({ to: "x" }).catch(({ code }) => code);`);
    expect(text).toContain("user_denied");
    expect(paid).toEqual([]);
  });
});
