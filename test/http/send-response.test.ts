import { once } from "node:events";
import { type ClientRequest, createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { FairBudget } from "../../src/base/fair-budget.ts";
import { sendPushed, sendResponse, UnreadAnswers } from "../../src/http/respond.ts";
import type { RequestRefusal } from "../../src/remote-protocol/problems.ts";

/** More than the kernel takes of a response that is not read. */
const BODY = new Uint8Array(16_000_000);

/** Serves clients that read nothing. */
async function serve(respond: (response: ServerResponse) => Promise<void>) {
  const server = createServer((_, response) => void respond(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const send = async (): Promise<ClientRequest> => {
    const sent = request({ port, agent: false }).end();
    sent.on("error", () => {});
    await once(sent, "response");
    return sent;
  };
  return { server, send };
}

test("a stream that is pushed counts until it is read, and is cancelled with its connection if there is no room", async () => {
  const budget = new FairBudget(BODY.length, BODY.length);
  const streams: { readonly response: ServerResponse; readonly push: (bytes: number) => void }[] = [];
  let cancelled = 0;
  const { send } = await serve(async (response) => {
    const body = new ReadableStream({
      start: (controller) => {
        const push = (bytes: number): void => controller.enqueue(new Uint8Array(bytes));
        streams.push({ response, push });
      },
      cancel: () => void cancelled++,
    });
    const headers = { "content-type": "text/event-stream" };
    await sendPushed(new Response(body, { headers }), response, new UnreadAnswers(budget, "client"));
  });
  await send();
  await send();
  const [first, second] = streams;
  first?.push(BODY.length - 1_000_000);
  await expect.poll(() => (first?.response.writableLength ?? 0) > BODY.length / 2).toBe(true);
  second?.push(BODY.length - 1_000_000);
  await expect
    .poll(() => [first?.response.closed, second?.response.closed, cancelled])
    .toEqual([false, true, 1]);
  first?.response.destroy();
  await expect.poll(() => budget.acquire("client", BODY.length)).toBe(true);
});

test("a response counts until it is read or its connection is closed, and is refused if there is no room", async () => {
  const budget = new FairBudget(BODY.length, BODY.length);
  const outcomes: (number | undefined)[] = [];
  const { server, send } = await serve(async (response) => {
    const unread = {
      acquire: (bytes: number) => budget.acquire("client", bytes),
      release: (bytes: number) => budget.release("client", bytes),
    };
    try {
      await sendResponse(new Response(BODY), response, new AbortController().signal, unread);
      outcomes.push(undefined);
    } catch (refusal) {
      outcomes.push((refusal as RequestRefusal).status);
      response.end();
    }
    response.on("close", () => server.emit("sent"));
  });
  const stuck = await send();
  await send();
  expect(outcomes).toEqual([undefined, 429]);
  const closed = once(server, "sent");
  stuck.destroy();
  await closed;
  await send();
  expect(outcomes).toEqual([undefined, 429, undefined]);
});
