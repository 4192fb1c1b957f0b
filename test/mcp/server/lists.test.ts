import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { PolicyRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../src/policy/strictest.ts";
import type { ServedMcp, ServerOptions } from "../../../src/server/options.ts";
import { type ClientName, TOKENS } from "../../server/harness.ts";
import { connect, PEERS, startMcpServer } from "./harness.ts";

const tool = (name: string): Tool => ({
  name,
  description: name,
  inputSchema: { type: "object" },
  sideEffects: "none",
  host: () => "done",
});
const TOOLS = ["a", "b", "c"].map(tool);
const allow = (more: object): PolicyRule => ({ effect: "allow", sandboxes: ["host"], ...more }) as PolicyRule;
const deny = (more: object): PolicyRule => ({ effect: "deny", ...more }) as PolicyRule;

async function listed(
  rules: readonly PolicyRule[],
  {
    mcp = {},
    client = "alice",
    peer = 2,
    ...options
  }: Partial<ServerOptions> & {
    mcp?: ServedMcp;
    client?: ClientName;
    peer?: number;
  } = {},
): Promise<readonly string[]> {
  const server = await startMcpServer(TOOLS, mcp, { policy: new RulePolicy({ rules }), ...options });
  const connected = await connect(server, PEERS[peer] ?? PEERS[0], { name: client });
  return (await connected.listTools()).tools.map((each) => (each as Tool).name);
}

describe("The list of tools", () => {
  const deniedForBob = deny({ tools: ["b"], principals: ["bob"] });

  test.each<[string, readonly PolicyRule[], readonly string[]]>([
    ["only what a rule allows", [allow({ tools: ["a"] })], ["a"]],
    [
      "what is allowed to the client",
      [allow({ tools: ["a"] }), allow({ tools: ["b"], principals: ["bob"] })],
      ["a"],
    ],
    ["what is allowed with some arguments", [allow({ tools: ["a"], when: { "/x": { equals: 1 } } })], ["a"]],
    ["what a person is asked about", [{ tools: ["a"], effect: "ask", sandboxes: ["host"] } as never], ["a"]],
    ["nothing that is asked about and granted nothing", [{ tools: ["a"], effect: "ask" } as never], []],
    ["nothing that is always denied", [allow({ tools: ["*"] }), deny({ tools: ["b"] })], ["a", "c"]],
    [
      "what is denied with some arguments",
      [allow({ tools: ["*"] }), deny({ tools: ["b"], when: { "/x": { equals: 1 } } })],
      ["a", "b", "c"],
    ],
    ["what is denied to others", [allow({ tools: ["*"] }), deniedForBob], ["a", "b", "c"]],
    [
      "nothing of another tenant",
      [allow({ tools: ["a"], when: { "principal/id": { equals: "bob" } } }), allow({ tools: ["b"] })],
      ["b"],
    ],
    [
      "nothing whose rule has ended",
      [allow({ tools: ["a"], until: "2020-01-01T00:00:00Z" }), allow({ tools: ["b"] })],
      ["b"],
    ],
  ])("has %s", async (_, rules, names) => {
    for (const peer of [0, 2]) expect(await listed(rules, { peer })).toEqual(names);
  });

  test("has for each client what is allowed to it", async () => {
    const rules = [allow({ tools: ["*"] }), deniedForBob];
    expect(await listed(rules, { client: "bob" })).toEqual(["a", "c"]);
  });

  test("has what all policies could allow", async () => {
    const policy = strictest(
      new RulePolicy({ rules: [allow({ tools: ["a", "b"] })] }),
      new RulePolicy({ rules: [allow({ tools: ["b", "c"] })] }),
    );
    expect(await listed([], { policy })).toEqual(["b"]);
  });

  test("has nothing whose level is deny", async () => {
    const sessions = { confirmations: { tools: { a: "deny" } } } as const;
    expect(await listed([allow({ tools: ["*"] })], { sessions })).toEqual(["b", "c"]);
  });

  test("has everything if it should", async () => {
    expect(await listed([allow({ tools: ["a"] })], { mcp: { lists: "all" } })).toEqual(["a", "b", "c"]);
  });

  test("changes with the policy, which clients are notified of", async () => {
    const server = await startMcpServer(
      TOOLS,
      {},
      { policy: new RulePolicy({ rules: [allow({ tools: ["a"] })] }) },
    );
    const client = await connect(server, PEERS[1]);
    const changed = Promise.withResolvers<void>();
    (
      client as unknown as { setNotificationHandler(method: string, handler: () => void): void }
    ).setNotificationHandler("notifications/tools/list_changed", changed.resolve);
    expect((await client.listTools()).tools).toHaveLength(1);
    const response = await fetch(`http://${server.address}/v1/policy`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TOKENS.frank}`, "content-type": "application/yaml" },
      body: "rules:\n  - { tools: [a, b], effect: allow, sandboxes: [host] }\n",
    });
    expect(response.status).toBe(200);
    await changed.promise;
    expect((await client.listTools()).tools).toHaveLength(2);
  });
});

test("Resources and prompts are listed if some of them can be read", async () => {
  const offers: ServedMcp = {
    resources: [{ uri: "docs://a", name: "a", read: () => ({ contents: [] }) }],
    prompts: [{ name: "p", get: () => ({ messages: [] }) }],
  };
  const list = async (rules: readonly PolicyRule[]): Promise<readonly unknown[]> => {
    const server = await startMcpServer([], offers, { policy: new RulePolicy({ rules }) });
    const client = (await connect(server, PEERS[2])) as unknown as {
      listResources(): Promise<{ resources: unknown[] }>;
      listPrompts(): Promise<{ prompts: unknown[] }>;
    };
    const { resources } = await client.listResources();
    const { prompts } = await client.listPrompts();
    return [resources.length, prompts.length];
  };
  expect(await list([allow({ tools: ["resources/read"] })])).toEqual([1, 0]);
  expect(await list([allow({ tools: ["prompts/get"], when: { "/name": { equals: "p" } } })])).toEqual([0, 1]);
});
