import { expect, test } from "vitest";
import { type DispatchEvent, EventStream } from "../../src/engine/call/events.ts";
import type { Server } from "../../src/server/server.ts";
import { type Answer, dispatchBody, executionOf, HeldTool, until } from "../executor/harness.ts";
import { startServer, TestClient, WITH_EXECUTOR, WritingTool } from "./harness.ts";

const RULES = ["a", "b", "c"];
const VERSIONS = ["even", "odd"] as const;
type Version = (typeof VERSIONS)[number];

/** A policy whose rules all have the version in their names. It allows one tool, and denies the other. */
function versionOf(version: Version): string {
  const [allowed, denied] = version === "even" ? ["read_even", "read_odd"] : ["read_odd", "read_even"];
  const rules = RULES.flatMap((rule) => [
    { name: `${version} ${rule}`, tools: [allowed, "hold"], effect: "allow", sandboxes: ["host"] },
    { name: `${version} no ${rule}`, tools: [denied], effect: "deny" },
  ]);
  return JSON.stringify({ rules });
}

function put(server: Server, body: string): Promise<Answer> {
  const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  return new TestClient(server, "frank").send("PUT", "/v1/policy", undefined, { body, headers });
}

function revisionOf({ status, text }: Answer): string {
  expect(status).toBe(200);
  return (JSON.parse(text) as { revision: string }).revision;
}

function reading(name: string): WritingTool {
  return new WritingTool(name, { sideEffects: "read" });
}

test("No call is decided by two policies that an admin swaps under load, and each decision names the one that made it", async () => {
  const SWAPS = 30;
  const events = new EventStream();
  const seen: DispatchEvent[] = [];
  events.on((event) => seen.push(event));
  const tools = [reading("read_even"), reading("read_odd")];
  const server = await startServer(
    tools.map(({ tool }) => tool),
    { ...WITH_EXECUTOR, events },
  );
  const versions = new Map<string, Version>();
  for (const version of VERSIONS) versions.set(revisionOf(await put(server, versionOf(version))), version);
  expect(versions.size).toBe(2);

  let isSwapping = true;
  const ended: { readonly name: string; readonly code: string | undefined }[] = [];
  const calls = (id: number): object[] =>
    tools.map(({ tool: { name } }) => ({ id: `${id}-${name}`, name, arguments: { text: "x" } }));
  const inSession = async (): Promise<void> => {
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    for (let id = 0; isSwapping; id++) {
      const { turnId } = await alice.dispatch(session, calls(id));
      for (const { callId, error } of await alice.executions(session, turnId))
        ended.push({ name: callId.replace(/^\d+-/, ""), code: error?.code });
    }
  };
  const overProtocol = async ({ tool: { name } }: WritingTool): Promise<void> => {
    const heidi = new TestClient(server, "heidi");
    // In one session, a second call with the same id would get the first one's execution.
    for (let id = 0; isSwapping; id++) {
      const body: unknown = JSON.parse(dispatchBody({ id: `${id}`, name }, { session: name }));
      const { error } = executionOf(await heidi.send("POST", "/v1/dispatch", body));
      ended.push({ name, code: error?.code });
    }
  };
  const callers = [...Array.from({ length: 6 }, inSession), ...tools.map(overProtocol)];
  for (let swap = 0; swap < SWAPS; swap++) {
    const version = VERSIONS[swap % 2] ?? "even";
    expect(versions.get(revisionOf(await put(server, versionOf(version))))).toBe(version);
    const before = ended.length;
    await until(() => ended.length > before);
  }
  isSwapping = false;
  await Promise.all(callers);

  const decided = seen.filter((event) => event.type === "tool.decided");
  expect(decided).toHaveLength(ended.length);
  expect(new Set(decided.map(({ policyRevision }) => policyRevision))).toEqual(new Set(versions.keys()));
  for (const { toolName, decision, rules, policyRevision = "" } of decided) {
    const version = versions.get(policyRevision);
    const isAllowed = toolName === `read_${version}`;
    const expected = isAllowed
      ? ["allow", RULES.map((rule) => `${version} ${rule}`)]
      : ["deny", [`${version} no a`]];
    expect([decision, rules]).toEqual(expected);
  }
  const started = seen.filter((event) => event.type === "tool.started");
  for (const { toolName, rules, policyRevision = "" } of started) {
    const version = versions.get(policyRevision);
    expect([toolName, rules]).toEqual([`read_${version}`, RULES.map((rule) => `${version} ${rule}`)]);
  }
  expect(new Set(ended.map(({ code }) => code))).toEqual(new Set([undefined, "permission_denied"]));
  expect(started).toHaveLength(ended.filter(({ code }) => code === undefined).length);
}, 120_000);

test("Calls that run while an admin swaps the policy end under the one that decided, and later ones do not begin", async () => {
  const held = new HeldTool();
  const events = new EventStream();
  const seen: DispatchEvent[] = [];
  events.on((event) => seen.push(event));
  const confirmations = { tools: { hold: "auto" } } as const;
  const server = await startServer([held.tool], { events, sessions: { confirmations } });
  const old = revisionOf(await put(server, versionOf("even")));
  const alice = new TestClient(server, "alice");
  const call = { id: "h", name: "hold", arguments: {} };
  const under = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const session = await alice.open();
      return { session, ...(await alice.dispatch(session, [call])) };
    }),
  );
  await until(() => held.started.length === under.length);
  const next = revisionOf(await put(server, JSON.stringify({ rules: [] })));
  const session = await alice.open();
  const { turnId } = await alice.dispatch(session, [call]);
  expect(await alice.executions(session, turnId)).toMatchObject([{ error: { code: "permission_denied" } }]);
  held.releaseAll();
  for (const each of under)
    expect(await alice.executions(each.session, each.turnId)).toMatchObject([{ success: true }]);
  expect(held.started).toHaveLength(under.length);
  for (const event of seen) {
    const isOld = event.sessionId !== session;
    if (event.type === "tool.decided") expect(event.policyRevision).toBe(isOld ? old : next);
    if (event.type === "tool.completed") expect(event.rules).toEqual(RULES.map((rule) => `even ${rule}`));
  }
});

test("Policies that admins put at once lead to one of them, whole, whatever the others' errors", async () => {
  const server = await startServer([reading("read_even").tool, reading("read_odd").tool]);
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  const bad = `${versionOf("odd").slice(0, -2)},{"tools":["read_even"],"effect":"perhaps"}]}`;
  for (let round = 0; round < 10; round++) {
    const bodies = [versionOf("even"), bad, versionOf("odd"), bad];
    const answers = await Promise.all(bodies.map((body) => put(server, body)));
    expect(answers.map(({ status }) => status)).toEqual([200, 422, 200, 422]);
    const { turnId } = await alice.dispatch(session, [
      { id: `${round}e`, name: "read_even", arguments: {} },
      { id: `${round}o`, name: "read_odd", arguments: {} },
    ]);
    const [even, odd] = await alice.executions(session, turnId);
    expect(even?.success).toBe(!odd?.success);
  }
});
