import { describe, expect, test, vi } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Credential } from "../../src/http/clients.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import type { ServerOptions } from "../../src/server/options.ts";
import { dispatchBody, executionOf } from "../executor/harness.ts";
import {
  begin,
  type ClientName,
  CREDENTIALS,
  pathOf,
  refusalOf,
  startServer,
  TestClient,
  TOKENS,
  WritingTool,
} from "./harness.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "hi" } };

/** Alice and bob as clients of the executor. */
const CLIENTS: readonly Credential[] = CREDENTIALS.slice(0, 2).map((each) => ({
  ...each,
  roles: ["client"],
}));

/** A server whose credentials can be replaced. */
async function reloadable(options: Partial<ServerOptions> = {}) {
  const writing = new WritingTool();
  const registry = new ToolRegistry().register(writing.tool);
  const server = await startServer([writing.tool], options);
  const reload = (credentials: readonly Credential[]): void =>
    server.reload({ registry, policy: new HostPolicy(), credentials });
  return { server, writing, reload };
}

function without(...names: readonly ClientName[]): readonly Credential[] {
  return CREDENTIALS.filter(({ token }) => !names.some((name) => TOKENS[name] === token));
}

function isEdited(input: unknown): boolean {
  return (input as { readonly text?: string }).text === "edited";
}

describe("a reload of the credentials", () => {
  test("ends the streams of events of those that are gone or may do other things, and no others", async () => {
    const { server, reload } = await reloadable();
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const names = ["alice", "carol", "dave", "erin", "frank"] as const;
    const [mine, gone, kept, changed, same] = names.map((name) =>
      new TestClient(server, name).events(`/v1/sessions/${session}/events`),
    );
    if (!mine || !gone || !kept || !changed || !same) throw new Error("no streams");
    expect(await Promise.all([mine, gone, kept, changed, same].map(({ opened }) => opened))).toEqual(
      names.map(() => 200),
    );
    reload([
      ...without("carol", "erin").toReversed(),
      { id: "erin", token: TOKENS.erin, roles: ["approver"], approves: ["*"] },
    ]);
    await Promise.all([gone.ended, changed.ended]);
    await alice.dispatch(session, [CALL]);
    for (const stream of [mine, kept, same]) await stream.next("tool.confirmation_requested");
    expect([gone.received, changed.received]).toEqual([[], []]);
    const again = (name: ClientName): Promise<number> =>
      new TestClient(server, name).events(`/v1/sessions/${session}/events`).opened;
    expect([await again("carol"), await again("erin")]).toEqual([401, 200]);
  });

  test("ends the stream of a message whose caller is gone, and its calls go on", async () => {
    const { server, writing, reload } = await reloadable();
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const stream = alice.events(`/v1/sessions/${session}/turns`, { body: { calls: [CALL] } });
    const dave = new TestClient(server, "dave");
    const [confirmation] = await dave.confirmations();
    reload(without("alice"));
    await stream.ended;
    if (confirmation === undefined) throw new Error("no confirmation");
    expect((await dave.answer(confirmation, { decision: "allow" })).status).toBe(200);
    await dave.executions(session, confirmation.turnId);
    expect(writing.inputs).toEqual([{ text: "hi" }]);
    expect(stream.received.map(({ type }) => type)).not.toContain("turn.ended");
  });

  test.each([
    ["is gone", without("carol")],
    [
      "is no approver now",
      [...without("carol"), { id: "carol", token: TOKENS.carol, roles: ["reader" as const] }],
    ],
    [
      "is of another id now",
      [
        ...without("carol"),
        { id: "other", token: TOKENS.carol, roles: ["approver" as const], approves: ["alice", "team-*"] },
      ],
    ],
  ])("refuses an answer whose end arrives when its credential %s", async (_, credentials) => {
    const { server, writing, reload } = await reloadable();
    const alice = new TestClient(server, "alice");
    await alice.dispatch(await alice.open(), [CALL]);
    const carol = new TestClient(server, "carol");
    const [confirmation] = await carol.confirmations();
    if (confirmation === undefined) throw new Error("no confirmation");
    const body = JSON.stringify({ decision: "allow", digest: confirmation.digest });
    const begun = await begin(server, pathOf(confirmation), body, carol.authorization);
    reload(credentials);
    expect(refusalOf(await begun.finish())).toBe("401 unauthenticated");
    expect(await new TestClient(server, "dave").confirmations()).toHaveLength(1);
    expect(writing.inputs).toEqual([]);
  });

  test("refuses an answer whose arguments are still being checked when its credential is gone", async () => {
    const checking = Promise.withResolvers<void>();
    const checked = Promise.withResolvers<void>();
    const policy = {
      check: async ({ input }: { readonly input: unknown }) => {
        if (isEdited(input)) {
          checking.resolve();
          await checked.promise;
        }
        return new HostPolicy().check();
      },
      explain: () => new HostPolicy().explain(),
    };
    const { server, writing, reload } = await reloadable({ policy });
    const alice = new TestClient(server, "alice");
    await alice.dispatch(await alice.open(), [CALL]);
    const carol = new TestClient(server, "carol");
    const [confirmation] = await carol.confirmations();
    if (confirmation === undefined) throw new Error("no confirmation");
    const answer = carol.answer(confirmation, { decision: "allow", arguments: { text: "edited" } });
    await checking.promise;
    reload(without("carol"));
    checked.resolve();
    expect(refusalOf(await answer)).toBe("401 unauthenticated");
    expect(await new TestClient(server, "dave").confirmations()).toHaveLength(1);
    expect(writing.inputs).toEqual([]);
  });

  test("refuses a policy that is still being read when the credential of its admin is gone", async () => {
    const read = Promise.withResolvers<void>();
    const beforePolicy = vi.fn(() => read.promise);
    const onAdmin = vi.fn();
    const { server, reload } = await reloadable({ beforePolicy, onAdmin });
    const frank = new TestClient(server, "frank");
    const text = "rules: []\n";
    const replaced = frank.send("PUT", "/v1/policy", undefined, {
      headers: { "content-type": "application/yaml", "content-length": String(text.length) },
      body: text,
    });
    await vi.waitUntil(() => beforePolicy.mock.calls.length > 0);
    reload(without("frank"));
    read.resolve();
    expect(refusalOf(await replaced)).toBe("401 unauthenticated");
    expect(onAdmin).not.toHaveBeenCalled();
  });

  test("refuses a call of the executor whose end arrives when its credential is gone", async () => {
    const { server, reload, writing } = await reloadable({ executor: true, credentials: CLIENTS });
    const body = dispatchBody({ name: "write_note", arguments: {} });
    const [begun, kept] = await Promise.all(
      (["alice", "bob"] as const).map((name) =>
        begin(server, "/v1/dispatch", body, new TestClient(server, name).authorization),
      ),
    );
    if (begun === undefined || kept === undefined) throw new Error("nothing was sent");
    reload(CLIENTS.slice(1));
    expect(refusalOf(await begun.finish())).toBe("401 unauthenticated");
    expect((await kept.finish()).status).toBe(200);
    expect(writing.inputs).toHaveLength(1);
  });

  test("in another order gives no client the calls of another one", async () => {
    const { server, reload, writing } = await reloadable({ executor: true, credentials: CLIENTS });
    const body: unknown = JSON.parse(dispatchBody({ name: "write_note", arguments: {} }));
    const send = (name: ClientName) => new TestClient(server, name).send("POST", "/v1/dispatch", body);
    expect(executionOf(await send("alice")).success).toBe(true);
    reload(CLIENTS.toReversed());
    expect((await send("alice")).headers["idempotency-replayed"]).toBe("true");
    reload([...CLIENTS.slice(1), ...CLIENTS.slice(0, 1)]);
    expect((await send("bob")).headers["idempotency-replayed"]).toBeUndefined();
    expect(writing.inputs).toHaveLength(2);
  });
});
