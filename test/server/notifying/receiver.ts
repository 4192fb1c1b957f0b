import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";
import { openChannel } from "../../../src/server/notifying/channel.ts";
import type { Notification } from "../../../src/server/notifying/notification.ts";
import { checkNotify, type Notify } from "../../../src/server/notifying/notify.ts";

/** What a server got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A server that keeps what it gets, and answers with a status. It is closed when the test finishes. */
export async function receivingServer(
  status = 200,
): Promise<{ readonly origin: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(status, { location: "/elsewhere" }).end("ok");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Sends a notification as a server would. */
export function notify(options: Notify, notification: Notification): Promise<void> {
  return openChannel(checkNotify(options)).send(notification, new AbortController().signal);
}

/** Waits until there is an item, and returns the first. */
export async function first<Item>(items: readonly Item[]): Promise<Item> {
  await vi.waitUntil(() => items.length > 0, { timeout: 20_000 });
  return items[0] as Item;
}

/** What a hostile tool or model puts into names and arguments. */
export const HOSTILE =
  "x\r\nBcc: eve@evil.example\r\n\r\n<!channel> <@U123> @here <at>Ann</at> [pay](https://evil.example) *b* \u202egpj.exe {{DATE(2020)}}";

/** Two confirmations with links, of which one is hostile. */
export const TWO: Notification = {
  confirmations: [
    {
      requestId: "r1",
      sessionId: "s1",
      toolName: HOSTILE,
      sideEffects: "network",
      link: "https://console.example/console/#/waiting/r1",
      summary: '{"to":"<!channel>"}',
    },
    { requestId: "r2", sessionId: "s2", toolName: "write_note", sideEffects: "write" },
  ],
  link: "https://console.example/console/#/waiting",
};

/** As many confirmations as one principal can have. */
export const MANY: Notification = {
  confirmations: Array.from({ length: 32 }, (_, at) => ({
    requestId: `r${at}`,
    sessionId: `s${at}`,
    toolName: "write_note",
    sideEffects: "write",
    link: `https://console.example/console/#/waiting/r${at}`,
    summary: "\u00fc".repeat(200),
  })),
  link: "https://console.example/console/#/waiting",
};
