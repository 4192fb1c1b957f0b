import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

const rule = { tools: ["pay"], effect: "allow", sandboxes: ["host"] } as const;

test.each([
  ["a turn", { in: "turn" }],
  ["a session", { in: "session" }],
  ["a principal", { within: "20ms", by: "principal" }],
] as const)("a condition on the earlier calls of %s is unclear, as other servers run calls too", async (_, where) => {
  await using restate = await startRestate();
  const [port = 0] = await freePorts(1);
  await using server = await openServer({
    node: restate.nodes[0] as RestateNode,
    port,
    tools: [hostTool(() => "paid", { name: "pay", confirm: "auto" })],
    policy: new RulePolicy({
      rules: [{ ...rule, history: [{ count: ["pay"], lessThan: 10, ...where }] }],
    }),
  });
  const session = await server.open({ principal: { id: "agent", kind: "agent" } });
  // The window is within the time for which the server knows its own calls.
  await sleep(100);
  const calls = [{ id: "c", name: "pay", arguments: {} }];
  const [result] = await session.turn().dispatchAll(calls, { messageId: "m" });
  expect(result?.error?.code).toBe("permission_denied");
});

test("a result is no source of a value, as what other servers gave to its tool is not known", async () => {
  await using restate = await startRestate();
  const [port = 0] = await freePorts(1);
  const from = [{ tool: "look_up", field: "/account" }];
  await using server = await openServer({
    node: restate.nodes[0] as RestateNode,
    port,
    tools: [
      hostTool(() => ({ account: "DE-1" }), { name: "look_up", sideEffects: "read" }),
      hostTool(() => "paid", { name: "pay", confirm: "auto" }),
    ],
    policy: new RulePolicy({
      rules: [
        { tools: ["look_up"], effect: "allow", sandboxes: ["host"] },
        { ...rule, when: { "/account": { from } } },
      ],
    }),
  });
  const session = await server.open();
  const turn = session.turn();
  const lookUp = [{ id: "c1", name: "look_up", arguments: {} }];
  const [known] = await turn.dispatchAll(lookUp, { messageId: "m1" });
  expect(known?.success).toBe(true);
  const pay = [{ id: "c2", name: "pay", arguments: { account: "DE-1" } }];
  const [result] = await turn.dispatchAll(pay, { messageId: "m2" });
  expect(result?.error?.code).toBe("permission_denied");
});
