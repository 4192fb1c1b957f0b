import { once } from "node:events";
import { type ClientRequest, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { FairBudget } from "../../../src/base/fair-budget.ts";
import type { RouteRefusal } from "../../../src/executor/http/more-routes.ts";
import { sendResponse } from "../../../src/server/http/send-response.ts";

/** More than the kernel takes of a response that is not read. */
const BODY = new Uint8Array(16_000_000);

test("a response counts until it is read or its connection is closed, and is refused if there is no room", async () => {
  const budget = new FairBudget(BODY.length, BODY.length);
  const outcomes: (number | undefined)[] = [];
  const server = createServer(async (_, response) => {
    const unread = {
      take: (bytes: number) => budget.take("client", bytes),
      giveBack: (bytes: number) => budget.giveBack("client", bytes),
    };
    try {
      await sendResponse(new Response(BODY), response, new AbortController().signal, unread);
      outcomes.push(undefined);
    } catch (refusal) {
      outcomes.push((refusal as RouteRefusal).kind.status);
      response.end();
    }
    response.on("close", () => server.emit("sent"));
  });
  server.listen(0, "127.0.0.1");
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
  const stuck = await send();
  await send();
  expect(outcomes).toEqual([undefined, 429]);
  const closed = once(server, "sent");
  stuck.destroy();
  await closed;
  await send();
  expect(outcomes).toEqual([undefined, 429, undefined]);
});
