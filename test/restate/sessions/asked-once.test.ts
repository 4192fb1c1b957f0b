import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { hostTool } from "../../engine/helpers.ts";
import { program, programPolicy } from "../../programs/suspension/setting.ts";
import { freePorts } from "../free-ports.ts";
import { IngressRelay } from "../kill-points/ingress-relay.ts";
import { WorkerRelay } from "../kill-points/worker-relay.ts";
import { type RestateNode, startRestate } from "../restate-nodes.ts";
import { openServer, type ServerOptions } from "./servers.ts";

const SOURCE = `export default async (input, { tools }) => tools.call("pay", { to: "x" });`;
const CALL = { id: "c1", name: "program", arguments: {} };
const CONFIRMATIONS = { default: { destructive: "auto", write: "auto" } } as const;

let stack: AsyncDisposableStack;
let paid: string[];
let node: RestateNode;
let worker: WorkerRelay;
/** Between the first server and the ingress of Restate. */
let ingress: IngressRelay;
let ports: readonly number[];

/** Restate reaches the server at this port, and the connections to the one before are lost. */
const reach = (workerPort: number | undefined): void =>
  worker.use({ workerPort: workerPort ?? 0, steps: undefined });

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  paid = [];
  [node] = stack.use(await startRestate()).nodes as [RestateNode];
  worker = stack.adopt(new WorkerRelay(), (used) => used.close());
  ingress = stack.adopt(new IngressRelay(node.ingress), (used) => used.close());
  ports = await freePorts(2);
});
afterEach(() => stack.disposeAsync());

/** Opens two servers of the same sessions. The first one reaches Restate through a relay. */
async function openServers(other: Partial<ServerOptions> = {}): Promise<readonly [Sessions, Sessions]> {
  const advertise = await worker.listen();
  const url = await ingress.listen();
  const open = async (
    name: string,
    port: number | undefined,
    more: Partial<ServerOptions>,
  ): Promise<Sessions> => {
    reach(port);
    const pay = (): string => {
      paid.push(name);
      return "paid";
    };
    const tools = [program(SOURCE), hostTool(pay, { name: "pay", sideEffects: "write" })];
    const shared = { node, port: port ?? 0, tools, advertise, policy: programPolicy() };
    return stack.use(await openServer({ ...shared, confirmations: CONFIRMATIONS, ...more }));
  };
  const [first, second] = ports;
  const two = await open("second", second, other);
  const one = await open("first", first, { node: { ingress: url, admin: node.admin } });
  return [one, two];
}

/** Holds a step of the first server. Returns when it has come there, and what lets it go on. */
function holdAt(step: string): { readonly reached: Promise<void>; readonly release: () => void } {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  ingress.hold = (each) => {
    if (each !== step) return undefined;
    reached.resolve();
    return released.promise;
  };
  return { reached: reached.promise, release: released.resolve };
}

async function call(server: Sessions) {
  const session = await server.open({ id: "s1", principal: { id: "ann", kind: "user" } });
  return { results: session.turn({ id: "t1" }).dispatchAll([CALL], { messageId: "m1" }) };
}

const openOf = (server: Sessions): readonly Confirmation[] => server.openConfirmations();

async function onlyQuestionOf(server: Sessions): Promise<Confirmation> {
  return vi.waitFor(() => {
    const [confirmation, ...others] = openOf(server);
    if (confirmation === undefined || others.length > 0) throw new Error(`${openOf(server).length} are open`);
    return confirmation;
  }, 20_000);
}

const answer = (server: Sessions, { id, digest }: Confirmation) =>
  server.answer(id, { decision: "allow", digest, by: "eve" });

describe("A person who is asked about a call of a program", () => {
  test.each([
    ["is about to be listed", "OpenInquiries.put is sent"],
    ["is about to be written", "addInquiry is sent"],
  ])(
    "is asked once if its server loses its connection when the question %s",
    async (_, step) => {
      const [one, two] = await openServers();
      const held = holdAt(step);
      const { results } = await call(one);
      await held.reached;
      reach(ports[1]);
      const confirmation = await onlyQuestionOf(two);
      const added = holdAt("addInquiry is answered");
      held.release();
      await added.reached;
      added.release();
      ingress.hold = undefined;
      expect(await onlyQuestionOf(one)).toEqual(confirmation);
      expect(await onlyQuestionOf(two)).toEqual(confirmation);
      expect(await answer(one, confirmation)).toMatchObject({ outcome: "resolved" });
      expect((await results)[0]).toMatchObject({ success: true, output: "paid" });
      expect(paid).toHaveLength(1);
      await vi.waitFor(() => expect([...openOf(one), ...openOf(two)]).toEqual([]), 20_000);
    },
    60_000,
  );

  test("is answered for the server that has the call in the end, although it had lost it", async () => {
    const [one, two] = await openServers();
    const { results } = await call(one);
    const confirmation = await onlyQuestionOf(one);
    reach(ports[1]);
    expect(await onlyQuestionOf(two)).toEqual(confirmation);
    await vi.waitFor(async () => expect(await revisionOf(two)).toBe(2), 20_000);
    reach(ports[0]);
    expect(await answer(two, confirmation)).toMatchObject({ outcome: "resolved" });
    expect((await results)[0]).toMatchObject({ success: true, output: "paid" });
    expect(paid).toHaveLength(1);
  }, 60_000);

  test("is told that an answer does not count when the program cannot go on elsewhere", async () => {
    const keys = [{ id: "k2", key: new Uint8Array(32).fill(8) }];
    const [one, two] = await openServers({ keys });
    const { results } = await call(one);
    const confirmation = await onlyQuestionOf(one);
    reach(ports[1]);
    const [result] = await results;
    expect(result?.error).toMatchObject({ code: "execution_error" });
    expect(await answer(one, confirmation)).toEqual({ outcome: "gone" });
    await vi.waitFor(() => expect([...openOf(one), ...openOf(two)]).toEqual([]), 20_000);
    expect(paid).toEqual([]);
  }, 60_000);
});

async function revisionOf(server: Sessions): Promise<number | undefined> {
  const [waiting] = await server.suspendedCalls();
  return (waiting as { readonly revision?: number } | undefined)?.revision;
}
