import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
// Inside: runs the same tests on the brokers of five stores, without the servers to which they belong.
import { RecordedListOfOpen } from "../../../src/cluster/recorded-messages.ts";
import type { Backend } from "../../../src/record/backend.ts";
import { MemoryBackend } from "../../../src/record/memory-backend.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import { OpenConfirmationList } from "../../../src/restate/sessions/open-confirmations.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import type { NewConfirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type {
  ConfirmationBroker,
  ConfirmationEvent,
} from "../../../src/sessions/confirmations/confirmation-broker.ts";
import { LocalConfirmations } from "../../../src/sessions/confirmations/local-confirmations.ts";
import { SharedConfirmations } from "../../../src/sessions/confirmations/shared-confirmations.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { RecordedSessionStore } from "../../../src/sessions/store/recorded-store.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../record/postgres-server.ts";
import { type RestateStores, startRestateStores } from "../../restate/store/restate-stores.ts";
import { IS_REST, targetsOfTier } from "../../tier.ts";
import { CONFIRMATION, MESSAGE, SESSION } from "../store/records.ts";

/** A kind of broker that must keep the contract of `ConfirmationBroker`. */
interface BrokerTarget {
  readonly name: string;
  readonly open: (options: { readonly timeoutMs: number }) => Promise<ConfirmationBroker>;
}

async function withSession<Store extends SessionStore>(store: Store): Promise<Store> {
  await store.addSession(SESSION);
  await store.addMessage(MESSAGE);
  return store;
}

const folder = mkdtempSync(join(tmpdir(), "sandgate-broker-"));
let count = 0;
let restate: Promise<RestateStores> | undefined;
let postgres: Promise<PostgresServer> | undefined;
afterAll(async () => {
  await (await postgres)?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
  await (await restate)?.[Symbol.asyncDispose]();
});

async function openShared(
  backend: Backend,
  options: { readonly timeoutMs: number },
): Promise<ConfirmationBroker> {
  const store = await withSession(new RecordedSessionStore(backend));
  const list = new RecordedListOfOpen(store.operations);
  return new SharedConfirmations({
    now: Date.now,
    store,
    list,
    checkArguments: async () => "no",
    ...options,
  });
}

const TARGETS: readonly BrokerTarget[] = [
  {
    name: "in memory",
    open: async (options) =>
      new LocalConfirmations({ store: await withSession(new MemorySessionStore()), ...options }),
  },
  {
    name: "in SQLite",
    open: async (options) =>
      new LocalConfirmations({
        store: await withSession(new SqliteSessionStore(join(folder, `${count++}.db`))),
        ...options,
      }),
  },
  {
    name: "over entries in memory",
    open: (options) => openShared(new MemoryBackend(), options),
  },
  {
    name: "on PostgreSQL",
    open: async (options) => {
      postgres ??= startPostgres();
      const { url, newSchema } = await postgres;
      return openShared(await PostgresBackend.open({ url, schema: newSchema() }), options);
    },
  },
  {
    name: "on Restate",
    open: async (options) => {
      restate ??= startRestateStores();
      const { ingress, newPrefix } = await restate;
      const prefix = newPrefix();
      const kept = new RestateSessionStore({ ingress, prefix });
      const store = await withSession(kept);
      const list = new OpenConfirmationList(kept.client, { prefix });
      return new SharedConfirmations({
        now: Date.now,
        store,
        list,
        checkArguments: async () => "no",
        ...options,
      });
    },
  },
];

const { id: _id, askedAt: _askedAt, expiresAt: _expiresAt, ...QUESTION } = CONFIRMATION;
const { digest } = CONFIRMATION;
const aboutCall = (callId: string): NewConfirmation => ({ ...QUESTION, callId });

/** Asks, and returns the id of the confirmation as soon as it is open. */
async function ask(broker: ConfirmationBroker, question: NewConfirmation = QUESTION, signal?: AbortSignal) {
  let id = "";
  const answer = broker.ask(question, {
    onAsked: (confirmation) => {
      id = confirmation.id;
    },
    ...(signal && { signal }),
  });
  await vi.waitFor(() => expect(id).not.toBe(""), 20_000);
  return { id, answer };
}

const targets = targetsOfTier(
  TARGETS,
  ({ name }) => name === "on Restate" || name === "on PostgreSQL",
).filter(({ name }) => name !== "on PostgreSQL" || NO_POSTGRES === undefined);

describe.each(targets)("A broker of confirmations $name", ({ open }) => {
  const opened = async (timeoutMs = 60_000): Promise<ConfirmationBroker> => {
    const broker = await open({ timeoutMs });
    await broker.restore();
    return broker;
  };

  test("resolves a question with the first answer, and tells later ones which it was", async () => {
    const broker = await opened();
    const { id, answer } = await ask(broker);
    expect(await broker.answer(id, { decision: "allow", digest, by: "bob" })).toMatchObject({
      outcome: "resolved",
      resolution: { decision: "allow", by: "bob" },
    });
    expect(await answer).toMatchObject({ decision: "allow", by: "bob" });
    expect(await broker.answer(id, { decision: "deny", digest, by: "eve" })).toMatchObject({
      outcome: "lost",
      resolution: { decision: "allow", by: "bob" },
    });
    expect((await broker.answer(id, { decision: "allow", digest, by: "bob" })).outcome).toBe("resolved");
    broker.close();
  });

  test("lets one of many answers at once win", async () => {
    const broker = await opened();
    const { id, answer } = await ask(broker);
    const outcomes = await Promise.all(
      ["a", "b", "c", "d"].map((by) => broker.answer(id, { decision: "allow", digest, by })),
    );
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["lost", "lost", "lost", "resolved"]);
    const winner = outcomes.find(({ outcome }) => outcome === "resolved");
    expect(winner).toMatchObject({ resolution: await answer });
    broker.close();
  });

  test("refuses answers to what was not shown, of another session, and that are no choices", async () => {
    const broker = await opened();
    const { id } = await ask(broker);
    const given = { decision: "allow", digest, by: "bob" } as const;
    expect(await broker.answer(id, { ...given, digest: "0".repeat(64) })).toEqual({
      outcome: "other-digest",
    });
    expect(await broker.answer(id, { ...given, sessionId: "another" })).toEqual({ outcome: "unknown" });
    expect(await broker.answer("another", given)).toEqual({ outcome: "unknown" });
    expect((await broker.answer(id, { ...given, decision: "answer" })).outcome).toBe("invalid");
    expect(broker.open().map((confirmation) => confirmation.id)).toEqual([id]);
    broker.close();
  });

  test("ends a question that nothing answers in time, whose answers are too late then", async () => {
    const broker = await opened(300);
    const { id, answer } = await ask(broker);
    expect(await answer).toMatchObject({ decision: "timeout" });
    expect(await broker.answer(id, { decision: "allow", digest, by: "bob" })).toEqual({ outcome: "gone" });
    expect(broker.open()).toEqual([]);
    broker.close();
  });

  test("cancels a question with its call", async () => {
    const broker = await opened();
    const cancelling = new AbortController();
    const { id, answer } = await ask(broker, QUESTION, cancelling.signal);
    cancelling.abort();
    expect(await answer).toMatchObject({ decision: "cancelled" });
    expect(await broker.answer(id, { decision: "allow", digest, by: "bob" })).toEqual({ outcome: "gone" });
    broker.close();
  });

  test("lists what is open, the oldest first, and tells listeners of each question and of its end once", async () => {
    const broker = await opened();
    const { id: first } = await ask(broker, aboutCall("call_0"));
    const events: string[] = [];
    const stop = broker.on(
      ({ type, confirmation }: ConfirmationEvent) => void events.push(`${type} ${confirmation.id}`),
    );
    const { id: second, answer } = await ask(broker, aboutCall("call_1"));
    expect(broker.open().map(({ id }) => id)).toEqual([first, second]);
    expect(broker.open(({ callId }) => callId === "call_1").map(({ id }) => id)).toEqual([second]);
    await broker.answer(second, { decision: "deny", digest, by: "bob" });
    await answer;
    expect(events).toEqual([`requested ${first}`, `requested ${second}`, `resolved ${second}`]);
    expect((await broker.find(second))?.resolution).toMatchObject({ decision: "deny", by: "bob" });
    expect((await broker.find(first))?.resolution).toBeUndefined();
    stop();
    broker.close();
  });

  test("says that there is nobody to ask if a principal has 32 open questions", async () => {
    const broker = await opened();
    for (let count = 0; count < 32; count++) await ask(broker, aboutCall(`call_${count}`));
    expect(await broker.ask(aboutCall("call_32"))).toBe("nobody");
    broker.close();
  });
});

test.runIf(IS_REST)(
  "A broker on Restate does not ask about a nested call again that a person answered while its process was gone",
  async () => {
    restate ??= startRestateStores();
    const { ingress, newPrefix } = await restate;
    const prefix = newPrefix();
    const kept = new RestateSessionStore({ ingress, prefix });
    const store = await withSession(kept);
    const openBroker = () =>
      new SharedConfirmations({
        now: Date.now,
        store,
        list: new OpenConfirmationList(kept.client, { prefix }),
        timeoutMs: 60_000,
        checkArguments: async () => "no",
      });
    const nested = { ...aboutCall("call_1/1"), parent: "call_1" };
    const [lost, other, next] = [openBroker(), openBroker(), openBroker()];
    const { id } = await ask(lost, nested);
    expect(await other.answer(id, { decision: "allow", digest, by: "ann" })).toMatchObject({
      outcome: "resolved",
    });
    const again = await ask(next, nested);
    expect(again.id).toBe(id);
    expect(await again.answer).toMatchObject({ decision: "allow", by: "ann" });
    // Nor one that is still open.
    const open = { ...aboutCall("call_1/2"), parent: "call_1" };
    const asked = await ask(lost, open);
    expect((await ask(next, open)).id).toBe(asked.id);
    for (const broker of [lost, other, next]) broker.close();
  },
);
