import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
// Inside: sees what reaches the client, and when the clock stands still, without a server and a connection.
import { clientLink, type McpAsk } from "../../../src/mcp/gateway/client-link.ts";

const SAMPLING = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
const ROOTS = { method: "roots/list", params: {} };
const form = (more: object = {}) => ({
  method: "elicitation/create",
  params: { message: "m", requestedSchema: { type: "object", properties: {} }, ...more } as JsonObject,
});
const page = (url: unknown) => form({ mode: "url", url });

/** A link to a client that answers everything. */
function link(...asks: readonly McpAsk[]) {
  const asked: unknown[] = [];
  const clock: string[] = [];
  const made = clientLink({
    server: "s",
    asks: new Set(asks),
    client: {
      capabilities: {
        elicitation: { form: { secret: 1 }, url: {} },
        sampling: { tools: {} },
        roots: {},
        experimental: {},
      },
      ask: async (requests) => {
        asked.push(...Object.values(requests));
        clock.push("asked");
        const answer = { action: "accept", _meta: { "x/y": 1 } };
        return Object.fromEntries(Object.keys(requests).map((key) => [key, answer]));
      },
      progress: () => {},
    },
    pause: () => {
      clock.push("paused");
      return () => clock.push("resumed");
    },
  });
  const ask = (request: { method: string; params: JsonObject }, key = "k") =>
    made.ask(key, request, new AbortController().signal);
  return { capabilities: made.capabilities, ask, asked, clock };
}

describe("A server", () => {
  test("is told only of what it may ask, and of nothing else that the client declares", () => {
    expect(link("elicitation").capabilities).toEqual({ elicitation: { form: {}, url: {} } });
    expect(link("sampling", "roots").capabilities).toEqual({ sampling: {}, roots: {} });
    expect(link().capabilities).toEqual({});
  });

  test("can ask for a model's answer and for directories only if that is switched on", async () => {
    const { ask, asked } = link("elicitation");
    await expect(ask(SAMPLING)).rejects.toThrow("not passed on");
    await expect(ask(ROOTS)).rejects.toThrow("not passed on");
    await expect(ask({ method: "ping", params: {} })).rejects.toThrow("not passed on");
    expect(asked).toEqual([]);
    const open = link("sampling", "roots");
    await open.ask(SAMPLING);
    await open.ask(ROOTS);
    expect(open.asked).toEqual([SAMPLING, { method: "roots/list" }]);
    await expect(open.ask(form())).rejects.toThrow("not passed on");
  });

  test("has the wall time stand still while the client is asked, and gets no _meta of its connection", async () => {
    const { ask, clock } = link("elicitation");
    expect(await ask(form(), "a key: with others")).toEqual({ action: "accept" });
    expect(clock).toEqual(["paused", "asked", "resumed"]);
    await expect(ask(form({ message: 1 }))).rejects.toThrow();
    expect(clock).toHaveLength(3);
  });

  test.each([
    ["javascript:alert(1)"],
    ["file:///etc/passwd"],
    ["https://user@example.com/"],
    [`https://example.com/${"x".repeat(3_000)}`],
    ["no url"],
    [1],
  ])("cannot have the page %s opened", async (url) => {
    const { ask, asked } = link("elicitation");
    await expect(ask(page(url))).rejects.toThrow("the url is not one of a page");
    expect(asked).toEqual([]);
  });
});
