import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { StreamRequest } from "../../src/egress/request.ts";
import { echo, failureOf, openEgress, request, serve } from "./servers.ts";

const stream = (url: string, more: Partial<StreamRequest> = {}): StreamRequest => ({
  ...request(url),
  headTimeoutMs: 10_000,
  ...more,
});

describe("a streamed response", () => {
  test("is there as soon as its head is, and its body as it arrives", async () => {
    let sent: ServerResponse | undefined;
    const port = await serve((_request, response) => {
      sent = response;
      response.writeHead(200, { "x-a": "b" }).write("one ");
    });
    const { status, headers, body } = await openEgress().stream(stream(`http://api.test:${port}/`));
    expect([status, headers["x-a"]]).toEqual([200, "b"]);
    expect(String((await once(body, "data"))[0])).toBe("one ");
    sent?.end("two");
    expect(await text(body)).toBe("two");
  });

  test("is that of the method, the headers and the body that were sent", async () => {
    const port = await serve(echo);
    const asked = { method: "POST", headers: { "X-Key": "k" }, body: "héllo" };
    const { body } = await openEgress().stream(stream(`http://api.test:${port}/a?b`, asked));
    expect(JSON.parse(await text(body))).toMatchObject({ method: "POST", url: "/a?b", body: "héllo" });
  });

  test("of a redirect is the redirect itself", async () => {
    const requests: unknown[] = [];
    const port = await serve(({ url }, response) => {
      requests.push(url);
      response.writeHead(307, { location: "/b" }).end();
    });
    const { status, body } = await openEgress().stream(stream(`http://api.test:${port}/a`));
    expect([status, await text(body), requests]).toEqual([307, "", ["/a"]]);
  });

  test.each<[string, Partial<StreamRequest>, string]>([
    ["an origin that is not granted", { grants: ["http://other.test"] }, "origin_denied"],
    ["an address that is not granted", { grants: ["http://api.test:*"] }, "address_denied"],
    ["an invalid method", { method: "CONNECT" }, "request_invalid"],
    ["an invalid header", { headers: { a: "b\r\nx: y" } }, "request_invalid"],
    ["an aborted signal", { signal: AbortSignal.abort() }, "aborted"],
  ])("is refused before a byte is sent for %s", async (_case, more, code) => {
    let requests = 0;
    const port = await serve((_request, response) => {
      requests++;
      response.end();
    });
    const error = await failureOf(openEgress().stream(stream(`http://api.test:${port}/`, more)));
    expect([error.code, error.sent, requests]).toEqual([code, false, 0]);
  });

  test("fails when its head is late, and when it is aborted before", async () => {
    const port = await serve(() => {});
    const egress = openEgress();
    const late = egress.stream(stream(`http://api.test:${port}/`, { headTimeoutMs: 50 }));
    expect(await failureOf(late)).toMatchObject({ code: "headers_timeout", sent: true });
    const aborting = new AbortController();
    const aborted = egress.stream(stream(`http://api.test:${port}/`, { signal: aborting.signal }));
    setTimeout(() => aborting.abort(), 50);
    expect((await failureOf(aborted)).code).toBe("aborted");
  });

  test("whose reader aborts or leaves closes its connection, and one that breaks fails its reader", async () => {
    const responses: ServerResponse[] = [];
    const port = await serve((_request, response) => {
      responses.push(response);
      response.write("begun");
    });
    const egress = openEgress();
    const open = async (signal?: AbortSignal) => {
      const { body } = await egress.stream(stream(`http://api.test:${port}/`, signal && { signal }));
      const response = responses.at(-1);
      if (response === undefined) throw new Error("there is no response");
      return { body, response };
    };
    const aborting = new AbortController();
    const aborted = await open(aborting.signal);
    const closed = once(aborted.response, "close");
    aborting.abort();
    await expect(text(aborted.body)).rejects.toMatchObject({ code: "aborted" });
    await closed;
    const left = await open();
    const gone = once(left.response, "close");
    left.body.destroy();
    await gone;
    const broken = await open();
    broken.response.destroy();
    await expect(text(broken.body)).rejects.toMatchObject({ code: "connection_lost" });
  });

  test("that is not read is not buffered without end", async () => {
    let written = 0;
    let stalled: (() => void) | undefined;
    const isStalled = new Promise<void>((resolve) => {
      stalled = resolve;
    });
    const chunk = Buffer.alloc(1_024 * 1_024);
    const port = await serve((_request, response) => {
      const write = (): void => {
        if (written >= 256) return;
        written++;
        const timer = setTimeout(() => stalled?.(), 1_000);
        response.write(chunk, () => {
          clearTimeout(timer);
          write();
        });
      };
      write();
    });
    const { body } = await openEgress().stream(stream(`http://api.test:${port}/`));
    await isStalled;
    expect(written).toBeLessThan(128);
    body.destroy();
  });
});
