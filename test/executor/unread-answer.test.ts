import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { FairBudget } from "../../src/base/fair-budget.ts";
import { EventStream } from "../../src/engine/call/events.ts";
import { defineTool } from "../../src/engine/tool.ts";
import type { Executor } from "../../src/executor/executor.ts";
// Inside: writes chunks to 61 streams at once, in less memory than an executor has for them.
import type { CallEvent } from "../../src/executor/once/dispatched-call.ts";
import { AnswerStream } from "../../src/executor/routes.ts";
import { limitUnread, UnreadAnswers } from "../../src/http/respond.ts";
import { dispatch, dispatchBody, executionOf, HeldTool, startExecutor, until } from "./harness.ts";

/** More than the kernel buffers for a client that does not read. */
const LONG = "x".repeat(16 * 1_024 * 1_024);

const long = defineTool({
  name: "long",
  description: "Prints a long text, and returns it.",
  inputSchema: { type: "object" },
  host: (_, { onOutput }) => {
    for (let at = 0; at < LONG.length; at += 65_536) onOutput(LONG.slice(at, at + 65_536));
    return LONG;
  },
});

/** Connects to an executor with a client that never reads. Returns both ends of the connection. */
async function connectDeaf({
  address,
}: Executor): Promise<{ readonly client: Socket; readonly held: Socket }> {
  const connected = Promise.withResolvers<Socket>();
  const take = (message: unknown): void => connected.resolve((message as { readonly socket: Socket }).socket);
  subscribe("net.server.socket", take);
  onTestFinished(() => void unsubscribe("net.server.socket", take));
  const client = connect(Number(address.split(":")[1]), "127.0.0.1").pause();
  onTestFinished(() => void client.destroy());
  return { client, held: await connected.promise };
}

function requestText({ address }: Executor, body: string, accept: string): string {
  const headers = `host: ${address}\r\naccept: ${accept}\r\ncontent-type: application/json`;
  return `POST /v1/dispatch HTTP/1.1\r\n${headers}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

describe("clients that do not read", () => {
  test.each([
    "text/event-stream",
    "application/json",
  ])("a client that does not read its %s response is disconnected", async (accept) => {
    const executor = await startExecutor([long], { limits: { requestMs: 100 } });
    const { client, held } = await connectDeaf(executor);
    client.write(requestText(executor, dispatchBody({ name: "long" }), accept));
    await once(held, "close");
    expect(held.writableLength).toBe(0);
  });

  test("a client that does not read a pipelined response is disconnected", async () => {
    const tool = new HeldTool();
    const events = new EventStream();
    const ended: string[] = [];
    events.on(({ type, callId }) => type === "tool.completed" && ended.push(callId));
    const executor = await startExecutor([long, tool.tool], { events, limits: { requestMs: 300 } });
    const { client, held } = await connectDeaf(executor);
    const bodies = [dispatchBody({ id: "a", name: "hold" }), dispatchBody({ id: "b", name: "long" })];
    client.write(bodies.map((body) => requestText(executor, body, "application/json")).join(""));
    await until(() => ended.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    // The connection stays open while there is nothing to read.
    expect({ ended, isGone: held.destroyed }).toEqual({ ended: ["b"], isGone: false });
    tool.release();
    await once(held, "close");
  });

  test("a client that does not read does not affect other clients", async () => {
    const executor = await startExecutor([long], { limits: { requestMs: 5_000 } });
    const { client } = await connectDeaf(executor);
    client.write(requestText(executor, dispatchBody({ id: "a", name: "long" }), "application/json"));
    const answer = await dispatch(executor, dispatchBody({ id: "b", name: "long" }));
    expect(executionOf(answer).output).toBe(LONG);
  });

  test("clients that do not read have a bounded memory together, and each caller has a part of it", async () => {
    const unread = new FairBudget(1.5 * LONG.length, LONG.length / 2);
    const answered = new Map<string, ServerResponse>();
    const server = createServer((request, response) => {
      const caller = request.url ?? "";
      answered.set(caller, response);
      limitUnread(response, new UnreadAnswers(unread, caller.slice(1, 2)));
      response.end(LONG);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const ask = async (path: string): Promise<ServerResponse> => {
      const client = connect(port, "127.0.0.1").pause();
      onTestFinished(() => void client.destroy());
      client.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
      await until(() => answered.get(path)?.writableEnded === true);
      return answered.get(path) as ServerResponse;
    };
    const first = await ask("/a1");
    expect(first.writableLength).toBeGreaterThan(LONG.length / 2);
    const second = await ask("/a2");
    expect([first.destroyed, second.destroyed]).toEqual([false, true]);
    first.destroy();
    await once(first, "close");
    expect((await ask("/b1")).destroyed).toBe(false);
  });

  test("readers of streams have a bounded memory together for chunks, of which each caller has a part", async () => {
    const MIB = 2 ** 20;
    const budget = new FairBudget(4 * MIB, MIB / 2);
    const streams: { readonly response: ServerResponse; readonly stream: AnswerStream }[] = [];
    const server = createServer((request, response) => {
      const unread = new UnreadAnswers(budget, request.url ?? "");
      limitUnread(response, unread);
      streams.push({ response, stream: new AnswerStream(response, unread) });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const clients = Array.from({ length: 61 }, (_, index) => {
      const client = connect(port, "127.0.0.1").pause();
      onTestFinished(() => void client.destroy());
      client.write(`GET ${index < 60 ? "/a" : "/b"} HTTP/1.1\r\nhost: a\r\n\r\n`);
      return client;
    });
    await until(() => streams.length === clients.length);
    const chunk = { type: "tool.output", chunk: "x".repeat(200_000) } as CallEvent;
    for (let round = 0; round < 40; round++) {
      for (const { stream } of streams) stream.sendEvent(chunk);
      // What the kernel takes is not held here.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const waiting = streams.map(({ response }) => response.writableLength);
    expect(waiting.reduce((sum, bytes) => sum + bytes)).toBeLessThan(6 * MIB);
    expect(waiting.filter((bytes) => bytes > 0).length).toBeGreaterThan(1);
    for (const { response } of streams) response.destroy();
    await until(() => streams.every(({ response }) => response.closed));
    expect(budget.acquire("/a", 4 * MIB)).toBe(true);
  });
});
