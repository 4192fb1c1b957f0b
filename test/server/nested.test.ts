import { expect, test } from "vitest";
import { defineTool } from "../../src/engine/tool.ts";
import { allow, ask, type RuntimePolicy } from "../../src/policy/policy.ts";
import {
  type EventReader,
  type ListedConfirmation,
  pathOf,
  type ReceivedEvent,
  startServer,
  TestClient,
  WritingTool,
} from "./harness.ts";

const SECRET = "what the tool keeps to itself";

/** A tool that calls another one with a secret, and a policy that asks about that call. */
async function nesting() {
  const inner = defineTool({
    name: "inner",
    description: "Writes.",
    inputSchema: { type: "object" },
    sideEffects: "write",
    projectChanges: () => [SECRET],
    host: (_, { logger, onOutput }) => {
      logger.info(SECRET);
      onOutput(SECRET);
      return SECRET;
    },
  });
  const outer = defineTool({
    name: "outer",
    description: "Calls another tool.",
    inputSchema: { type: "object" },
    sideEffects: "none",
    quickjs: {
      source: `export default async (_, { tools }) => {
        await tools.call("inner", { text: ${JSON.stringify(SECRET)} });
        return "done";
      }`,
    },
  });
  const policy: RuntimePolicy = {
    check: ({ tool: { name } }) => {
      if (name === "outer") return allow({ sandbox: "quickjs", capabilities: { tools: ["*"] } });
      if (name === "inner") return ask(SECRET, { grant: { sandbox: "host" }, rules: [SECRET] });
      return allow({ sandbox: "host" });
    },
  };
  const server = await startServer([inner, outer, new WritingTool().tool], { policy });
  const [alice, carol, erin] = (["alice", "carol", "erin"] as const).map(
    (name) => new TestClient(server, name),
  ) as [TestClient, TestClient, TestClient];
  const session = await alice.open();
  const follow = async (client: TestClient): Promise<EventReader> => {
    const events = client.events(`/v1/sessions/${session}/events`);
    await events.opened;
    return events;
  };
  const streams = await Promise.all([alice, carol, erin].map(follow));
  return { alice, carol, session, follow, streams: streams as [EventReader, EventReader, EventReader] };
}

test("the caller learns of a nested call which tool it is and its effect; others learn all of it", async () => {
  const { alice, carol, session, follow, streams } = await nesting();
  const { turnId } = await alice.dispatch(session, [{ id: "c1", name: "outer", arguments: {} }]);
  const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
  const late = await follow(alice);
  const toCaller = await alice.send("GET", pathOf(confirmation));
  const toApprover = await carol.send("GET", pathOf(confirmation));
  expect(JSON.parse(toCaller.text)).toEqual({
    requestId: confirmation.requestId,
    kind: "call",
    sessionId: session,
    turnId,
    principal: "alice",
    messageId: expect.any(String),
    callId: "c1/1",
    parent: "c1",
    toolName: "inner",
    sideEffects: "write",
    choices: confirmation.choices,
    askedAt: expect.any(Number),
    expiresAt: confirmation.expiresAt,
  });
  expect(JSON.parse(toApprover.text)).toMatchObject({
    arguments: JSON.stringify({ text: SECRET }),
    rules: [SECRET],
    question: SECRET,
    projectedChanges: [SECRET],
    digest: confirmation.digest,
  });
  const edited = { text: `${SECRET}, edited` };
  expect((await carol.answer(confirmation, { decision: "allow", arguments: edited })).status).toBe(200);
  await alice.executions(session, turnId);
  const [callers, ...others] = streams;
  for (const stream of [...streams, late]) await stream.next("turn.ended");
  for (const stream of [callers, late]) expect(JSON.stringify(stream.received)).not.toContain(SECRET);
  expect(toCaller.text + (await alice.send("GET", pathOf(confirmation))).text).not.toContain(SECRET);
  const nested = (events: readonly ReceivedEvent[], type: string): ReceivedEvent | undefined =>
    events.find((event) => event["callId"] === "c1/1" && event.type === type);
  expect(callers.received.map(({ type }) => type)).toEqual(others[0]?.received.map(({ type }) => type));
  expect(nested(callers.received, "tool.completed")).toEqual({
    type: "tool.completed",
    callId: "c1/1",
    toolName: "inner",
    parent: "c1",
    at: expect.any(Number),
    success: true,
  });
  for (const { received } of others) {
    expect(nested(received, "tool.completed")).toMatchObject({ execution: { output: SECRET } });
    expect(nested(received, "tool.output")).toMatchObject({ chunk: SECRET });
    expect(nested(received, "tool.confirmation_requested")).toMatchObject({ question: SECRET });
  }
});

test("the caller sees the arguments of its own call, and not the rules that asked about it", async () => {
  const { alice, carol, session } = await nesting();
  await alice.dispatch(session, [{ id: "c1", name: "write_note", arguments: { text: "hi" } }]);
  const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
  const {
    rules: _,
    argumentOrder: order,
    ...others
  } = await carol.json<Record<string, unknown>>("GET", pathOf(confirmation));
  expect(others["arguments"]).toBe('{"text":"hi"}');
  // It is for the page of those who answer.
  expect(order).toEqual(["text"]);
  expect(await alice.json("GET", pathOf(confirmation))).toEqual(others);
});
