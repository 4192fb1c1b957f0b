import type { Context, ObjectContext, Serde } from "@restatedev/restate-sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Ingress, storedKeyOf } from "../../../src/restate/connection/ingress.ts";
// Inside: registers services of its own; the face registers only those of the sessions.
import { RegistrationWatch, register } from "../../../src/restate/connection/registration.ts";
import { loadSdk, openWorker, type RestateService } from "../../../src/restate/connection/worker.ts";
import { type RestateNodes, startRestate } from "../restate-nodes.ts";

let restate: RestateNodes;
beforeAll(async () => {
  restate = await startRestate();
});
afterAll(() => restate[Symbol.asyncDispose]());

const node = () => restate.nodes[0] as (typeof restate.nodes)[number];

async function counter(name: string): Promise<RestateService> {
  const { object, TerminalError } = await loadSdk();
  const add = async (ctx: ObjectContext, number: number): Promise<number> => {
    if (number < 0) throw new TerminalError("only up", { errorCode: 422 });
    const sum = ((await ctx.get<number>("sum")) ?? 0) + number;
    ctx.set("sum", sum);
    return sum;
  };
  return object({ name, handlers: { add } });
}

const serve = async (service: RestateService) =>
  openWorker({ services: [service], host: "127.0.0.1", port: 0 });
const at = (port: number): string => `http://127.0.0.1:${port}`;

describe("The ingress", () => {
  test("runs a call once under its idempotency key, whatever characters keys have", async () => {
    await using worker = await serve(await counter("once"));
    await register({ admin: [node().admin], advertise: at(worker.port), services: ["once"] });
    const ingress = new Ingress({ urls: [node().ingress] });
    const call = { service: "once", key: "a b/ü?#", handler: "add", input: 2, idempotencyKey: "key/1 ü" };
    expect([await ingress.call(call), await ingress.call(call)]).toEqual([2, 2]);
    expect(await ingress.call({ ...call, idempotencyKey: "another" })).toBe(4);
    await ingress.close();
  });

  test("waits for the result of a call that it made, or that a handler sent, under an idempotency key", async () => {
    const { service, serde } = await loadSdk();
    const sender = service({
      name: "sender",
      handlers: {
        send: async (ctx: Context, key: string): Promise<void> => {
          const call = { service: "attached", key: "k", method: "add", parameter: 2 };
          ctx.genericSend({
            ...call,
            inputSerde: serde.json as Serde<number>,
            idempotencyKey: storedKeyOf(key),
          });
        },
      },
    });
    const services = [await counter("attached"), sender as RestateService];
    await using worker = await openWorker({ services, host: "127.0.0.1", port: 0 });
    await register({ admin: [node().admin], advertise: at(worker.port), services: ["attached", "sender"] });
    const ingress = new Ingress({ urls: [node().ingress] });
    const address = { service: "attached", key: "k", handler: "add" };
    const keys = ['["own", "ü"]', '["sent", "ü"]'];
    await ingress.call({ ...address, input: 1, idempotencyKey: keys[0] as string });
    await ingress.call({ service: "sender", handler: "send", input: keys[1], idempotencyKey: "1" });
    await vi.waitFor(async () => {
      expect(await ingress.attach(address, keys[1] as string)).toEqual({ result: 3 });
    }, 10_000);
    expect(await ingress.attach(address, keys[0] as string)).toEqual({ result: 1 });
    expect(await ingress.attach(address, "another")).toBeUndefined();
    await ingress.close();
  });

  test("goes to the next node if one cannot be reached", async () => {
    await using worker = await serve(await counter("next"));
    await register({
      admin: ["http://127.0.0.1:1", node().admin],
      advertise: at(worker.port),
      services: ["next"],
    });
    const ingress = new Ingress({ urls: ["http://127.0.0.1:1", node().ingress] });
    expect(
      await ingress.call({ service: "next", key: "k", handler: "add", input: 1, idempotencyKey: "1" }),
    ).toBe(1);
    await ingress.close();
  });

  test("rejects with what a handler threw, and does not call it again", async () => {
    await using worker = await serve(await counter("throwing"));
    await register({ admin: [node().admin], advertise: at(worker.port), services: ["throwing"] });
    const ingress = new Ingress({ urls: [node().ingress] });
    const call = ingress.call({
      service: "throwing",
      key: "k",
      handler: "add",
      input: -1,
      idempotencyKey: "1",
    });
    await expect(call).rejects.toMatchObject({ name: "RestateError", message: "only up", status: 422 });
    await ingress.close();
  });

  test("rejects, and says that nothing has begun, if no node can be reached", async () => {
    const ingress = new Ingress({ urls: ["http://127.0.0.1:1"], retryMs: 50 });
    const call = ingress.call({ service: "s", handler: "h", idempotencyKey: "1" });
    await expect(call).rejects.toMatchObject({ code: "restate_failed", mayHaveBegun: false });
    await ingress.close();
  });

  test("gives up waiting when its signal is aborted", async () => {
    const ingress = new Ingress({ urls: ["http://127.0.0.1:1"], retryMs: 60_000 });
    const cancelling = new AbortController();
    const call = ingress.call({ service: "s", handler: "h", idempotencyKey: "1", signal: cancelling.signal });
    cancelling.abort(new Error("enough"));
    await expect(call).rejects.toThrow();
    await ingress.close();
  });
});

describe("Registering", () => {
  test("a URL again changes nothing, as with each server that starts", async () => {
    await using worker = await serve(await counter("again"));
    const registration = { admin: [node().admin], advertise: at(worker.port), services: ["again"] };
    await register(registration);
    await register(registration);
  });

  test("fails if other code is registered under the same name, which would get the calls", async () => {
    await using worker = await serve(await counter("taken"));
    await using other = await serve(await counter("taken"));
    const registration = { admin: [node().admin], services: ["taken"] };
    await register({ ...registration, advertise: at(worker.port) });
    await register({ ...registration, advertise: at(other.port) });
    await expect(register({ ...registration, advertise: at(worker.port) })).rejects.toThrow(
      /other code registered as 'taken'/,
    );
  });

  test("fails if the URL is registered without the services", async () => {
    await using worker = await serve(await counter("present"));
    const registration = { admin: [node().admin], advertise: at(worker.port) };
    await expect(register({ ...registration, services: ["absent"] })).rejects.toThrow(/without absent/);
  });

  test("fails if no node answers", async () => {
    const registration = { admin: ["http://127.0.0.1:1"], advertise: "http://127.0.0.1:2", services: [] };
    await expect(register({ ...registration, retryMs: 10 })).rejects.toThrow(/cannot be reached/);
  });
});

describe("A registration that is watched", () => {
  test("has a problem, which names the deployment, from when other code takes over a name until it is gone", async () => {
    await using worker = await serve(await counter("watched"));
    await using other = await serve(await counter("watched"));
    const registration = { admin: [node().admin], services: ["watched"], advertise: at(worker.port) };
    const deployment = await register(registration);
    const told: (string | undefined)[] = [];
    const watch = new RegistrationWatch(registration, deployment, (problem) => told.push(problem));
    await watch.look();
    expect(watch.problem).toBeUndefined();
    const foreign = await register({ ...registration, advertise: at(other.port) });
    await watch.look();
    await watch.look();
    expect(watch.problem).toBe(
      `Restate has other code registered as 'watched' (deployment ${foreign}), which would get the calls: remove that deployment`,
    );
    await fetch(`${node().admin}/deployments/${foreign}?force=true`, { method: "DELETE" });
    await watch.look();
    expect(told).toEqual([expect.stringContaining(foreign), undefined]);
  });

  test("has a problem while its own deployment is removed, until another server registers it again", async () => {
    await using worker = await serve(await counter("removed"));
    const registration = { admin: [node().admin], services: ["removed"], advertise: at(worker.port) };
    const deployment = await register(registration);
    const told: (string | undefined)[] = [];
    const watch = new RegistrationWatch(registration, deployment, (problem) => told.push(problem));
    await fetch(`${node().admin}/deployments/${deployment}?force=true`, { method: "DELETE" });
    await watch.look();
    // The same URL, under another id.
    expect(await register(registration)).not.toBe(deployment);
    await watch.look();
    expect(told).toEqual([expect.stringContaining("no code registered as 'removed'"), undefined]);
  });

  test("has no other problem than before while no node answers", async () => {
    const told: unknown[] = [];
    const admin = ["http://127.0.0.1:1"];
    const registration = { admin, advertise: "http://127.0.0.1:2", services: ["watched"], retryMs: 10 };
    const watch = new RegistrationWatch(registration, "dp_1", (problem) => told.push(problem));
    await watch.look();
    expect([told, watch.problem]).toEqual([[], undefined]);
  });
});

describe("A worker", () => {
  test("needs the identity keys of Restate unless it listens on a loopback address", async () => {
    const services = [await counter("open")];
    await expect(openWorker({ services, host: "0.0.0.0", port: 0 })).rejects.toThrow(/identity keys/);
  });

  test("with identity keys refuses requests that are not signed", async () => {
    const identityKeys = ["publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9"];
    await using worker = await openWorker({
      services: [await counter("signed")],
      host: "127.0.0.1",
      port: 0,
      identityKeys,
    });
    const registration = { admin: [node().admin], advertise: at(worker.port), services: ["signed"] };
    await expect(register({ ...registration, retryMs: 10 })).rejects.toThrow();
  });
});
