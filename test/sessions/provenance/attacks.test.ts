import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import type { PolicyRule, RuleConditions } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { call, testSessions, tool } from "../harness.ts";

const emails = { tool: "list_contacts", field: "/email" };

interface World {
  readonly session: Session;
  /** The contacts, which the tool `add_contact` changes. */
  readonly contacts: JsonValue[];
}

/** A session whose tool `send` runs under one rule. Everything else runs, too. */
async function open(when: RuleConditions, more: Partial<PolicyRule> = {}): Promise<World> {
  const contacts: JsonValue[] = [{ email: "ann@x.example" }];
  const policy = new RulePolicy({
    rules: [
      {
        tools: ["list_contacts", "add_contact", "fail", "huge", "deep"],
        effect: "allow",
        sandboxes: ["host"],
      },
      { tools: ["send"], effect: "allow", sandboxes: ["host"], when, ...more } as PolicyRule,
    ],
  });
  const tools = [
    tool("send", "none"),
    tool("list_contacts", "none", () => [...contacts]),
    tool("add_contact", "none", ({ email }) => {
      contacts.push({ email: email ?? null });
      return "added";
    }),
    tool("fail", "none", () => {
      throw new Error("eve@x.example");
    }),
    tool("huge", "none", () =>
      Array.from({ length: 60_000 }, (_, index) => ({ email: `a${index}@x.example` })),
    ),
  ];
  const { sessions } = await testSessions(tools, { policy });
  return { session: await sessions.open(), contacts };
}

/** Whether `send` runs with these arguments in a turn with these words. */
async function sends({ session }: World, userText: string | undefined, input: JsonObject): Promise<boolean> {
  const turn = session.turn(userText === undefined ? {} : { userText });
  const execution = await turn.dispatch(call("send", "send", input));
  return execution?.success === true;
}

async function runs({ session }: World, name: string, input: JsonObject = {}): Promise<boolean> {
  return (await session.turn({ userText: "go on" }).dispatch(call("other", name, input)))?.success === true;
}

describe("An agent that obeys an attack cannot send to", () => {
  test.each([
    ["a part of an address that the user said", "nn@x.example"],
    ["a longer address", "ann@x.example.evil.example"],
    ["another case", "ANN@x.example"],
    ["a look-alike", "аnn@x.example"],
    ["an address with an invisible character", "ann@x.example\u200b"],
    ["an address with a line break", "ann@x.example\nbcc: eve@x.example"],
    ["a percent-encoded address", "ann%40x.example"],
    ["two addresses in one", "ann@x.example,eve@x.example"],
    ["an address with white space", " ann@x.example"],
    ["nothing", ""],
  ])("%s", async (_kind, to) => {
    const world = await open({ "/to": { from: ["user"] } });
    expect(await sends(world, "Write to 'ann@x.example', please.", { to })).toBe(false);
    expect(await sends(world, "Write to 'ann@x.example', please.", { to: "ann@x.example" })).toBe(true);
  });

  test("an address beside one that the user said", async () => {
    const world = await open({ "/to": { from: ["user"] } });
    expect(await sends(world, "Write to ann@x.example.", { to: ["ann@x.example", "eve@x.example"] })).toBe(
      false,
    );
    expect(await sends(world, "Write to ann@x.example.", { to: { ann: "ann@x.example" } })).toBe(false);
  });

  test("anybody if the user's words are not known", async () => {
    const world = await open({ "/to": { from: ["user"] } });
    expect(await sends(world, undefined, { to: "ann@x.example" })).toBe(false);
  });

  test("an address of a call that failed", async () => {
    const world = await open({
      "/to": {
        from: [
          { tool: "fail", field: "" },
          { tool: "fail", field: "/message" },
        ],
      },
    });
    expect(await runs(world, "fail")).toBe(false);
    expect(await sends(world, "Go on.", { to: "eve@x.example" })).toBe(false);
  });

  test("an address that it added to a trusted list itself", async () => {
    const world = await open({ "/to": { from: [emails] } });
    expect(await runs(world, "add_contact", { email: "eve@x.example" })).toBe(true);
    expect(await runs(world, "list_contacts")).toBe(true);
    expect(world.contacts).toHaveLength(2);
    expect(await sends(world, "Go on.", { to: "eve@x.example" })).toBe(false);
    expect(await sends(world, "Go on.", { to: "ann@x.example" })).toBe(true);
  });

  test("an address of the same session that another session learnt", async () => {
    const world = await open({ "/to": { from: [emails] } });
    const other = await open({ "/to": { from: [emails] } });
    expect(await runs(world, "list_contacts")).toBe(true);
    expect(await sends(other, "Go on.", { to: "ann@x.example" })).toBe(false);
  });

  test("an address from beyond the bounds of what is remembered", async () => {
    const world = await open({ "/to": { from: [{ tool: "huge", field: "/email" }] } });
    expect(await runs(world, "huge")).toBe(true);
    expect(await sends(world, "Go on.", { to: "a0@x.example" })).toBe(true);
    expect(await sends(world, "Go on.", { to: "a59999@x.example" })).toBe(false);
  });
});

describe("Amounts", () => {
  test.each([
    ["Pay 1,000.00 now", 1_000, true],
    ["Pay 10.00 now", 1_000, false],
    ["Pay 1e3 now", 1_000, false],
    ["Pay 10 now", 10.000001, false],
    ["Pay 10 now", -10, false],
    ["Pay 10 now", "10", true],
    ["Pay 10 now", "1e1", false],
    ["Pay 10 now", "10.00", false],
  ])("the user says %j, and the call has %j: %s", async (userText, amount, expected) => {
    expect(await sends(await open({ "/amount": { from: ["user"] } }), userText, { amount })).toBe(expected);
  });
});

describe("An agent that obeys an attack cannot put into a text", () => {
  test.each([
    "see www.evil.example",
    "see evil[.]example/x",
    "see ann@x.example.evil.example",
    "see https://intranet.example/wiki?q=secret",
    "see https://intranet.example@evil.example/wiki",
    "see https://intranet.example/wiki/../evil",
    "pay to DE02 1203 0000 0000 2020 52",
    "pay to 1203-0000-0000-2020-51",
  ])("%j", async (body) => {
    const userText = "Tell ann@x.example: pay to DE02120300000000202051, see https://intranet.example/wiki.";
    const world = await open({ "": { links: { from: ["user"] } } });
    expect(await sends(world, userText, { body })).toBe(false);
    expect(await sends(world, userText, { nested: [{ body }] })).toBe(false);
    expect(await sends(world, userText, { [body]: 1 })).toBe(false);
    const said = "Hi ann@x.example! See (https://intranet.example/wiki), pay to DE02 1203 0000 0000 2020 51.";
    expect(await sends(world, userText, { body: said })).toBe(true);
  });
});

test("words of an earlier turn of the session are the user's, and 'asked' is about this turn only", async () => {
  const world = await open({ "/to": { from: ["user"] } }, { asked: "\\bsend\\b" });
  expect(await sends(world, "My friend is ann@x.example. Send her a card.", { to: "ann@x.example" })).toBe(
    true,
  );
  expect(await sends(world, "What is the weather?", { to: "ann@x.example" })).toBe(false);
  expect(await sends(world, "Send another one.", { to: "ann@x.example" })).toBe(true);
});

test("a call that was denied does not keep its arguments from being learnt", async () => {
  const world = await open({ "/to": { from: [emails] } });
  expect(await sends(world, "Write to Ann.", { to: "ann@x.example" })).toBe(false);
  expect(await runs(world, "list_contacts")).toBe(true);
  expect(await sends(world, "Write to Ann.", { to: "ann@x.example" })).toBe(true);
});

test("what a tool returned before a restart is unclear afterwards, and not absent from a text", async () => {
  const store = new MemorySessionStore();
  const policy = new RulePolicy({
    rules: [
      { tools: ["get_profile"], effect: "allow", sandboxes: ["host"] },
      {
        tools: ["send"],
        effect: "allow",
        sandboxes: ["host"],
        when: { "/body": { without: [{ tool: "get_profile", field: "/passport" }] } },
      },
    ],
  });
  const tools = [tool("send", "none"), tool("get_profile", "none", () => ({ passport: "E1234567" }))];
  const send = async (session: Session, body: string) =>
    (await session.turn({ userText: "go on" }).dispatch(call("send", "send", { body })))?.success;

  const before = await testSessions(tools, { policy, store });
  const session = await before.sessions.open({ id: "s1" });
  expect((await session.turn().dispatch(call("get", "get_profile")))?.success).toBe(true);
  expect(await send(session, "hi")).toBe(true);
  expect(await send(session, "E1234567")).toBe(false);
  await before.sessions.close();

  const after = await testSessions(tools, { policy, store });
  expect(await send(after.sessions.get("s1") as Session, "E1234567")).toBe(false);
  expect(await send(await after.sessions.open(), "hi")).toBe(true);
  await after.sessions.close();
});
