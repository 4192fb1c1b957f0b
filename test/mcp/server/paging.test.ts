import * as sdk from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
// Inside: a property of lists of up to 3,500 items of any size, without a server with as many tools.
import { pageOf } from "../../../src/mcp/server/find-offer.ts";
import { connect, PEERS, send, startMcpServer } from "./harness.ts";

/** All pages of a list. */
function pagesOf(list: readonly string[]): readonly (readonly string[])[] {
  const pages: (readonly string[])[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = pageOf(sdk, list, cursor, (item) => item);
    pages.push(items);
    cursor = next.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

function tool(name: string, description = "A tool."): Tool {
  return { name, description, inputSchema: { type: "object" }, sideEffects: "read", host: () => "" };
}

describe("The pages of a list", () => {
  test("have every item once and in order, and few of them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_500 }), fc.integer({ min: 1, max: 4_000 }), (count, size) => {
        const list = Array.from({ length: count }, (_, index) => `${index} `.padEnd(size, "x"));
        const pages = pagesOf(list);
        expect(pages.flat()).toEqual(list);
        for (const page of pages) {
          expect(page.length).toBeLessThanOrEqual(1_000);
          expect(JSON.stringify(page).length).toBeLessThan(2 * 1_024 * 1_024 + 8_000);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("have an item that is larger than a page alone", () => {
    const large = "x".repeat(3 * 1_024 * 1_024);
    expect(pagesOf(["a", large, "b"]).map((page) => page.length)).toEqual([1, 1, 1]);
  });

  test("go on after items that were added or removed elsewhere", () => {
    const list = Array.from({ length: 2_000 }, (_, index) => `item ${index}`);
    const { next } = pageOf(sdk, list, undefined, (item) => item);
    const changed = ["new", ...list.filter((item) => item !== "item 5")];
    expect(pageOf(sdk, changed, next.nextCursor, (item) => item).items[0]).toBe("item 1000");
  });

  test.each(["", "item 1", "0", "x".repeat(100_000)])("are not opened by the cursor %j", (cursor) => {
    expect(() => pageOf(sdk, ["item 1", "item 2"], cursor, (item) => item)).toThrow(
      "The cursor leads nowhere",
    );
  });
});

test("clients get all tools, and one that reads pages gets at most 1,000 in each", async () => {
  const tools = Array.from({ length: 1_500 }, (_, index) => tool(`tool_${index}`));
  const server = await startMcpServer(tools);
  for (const peer of [PEERS[1], PEERS[2]]) {
    expect((await (await connect(server, peer)).listTools()).tools).toHaveLength(1_500);
  }
  const { body } = await send(server, "tools/list", {});
  const { tools: first, nextCursor } = body["result"] as { tools: unknown[]; nextCursor: string };
  expect(first).toHaveLength(1_000);
  const second = await send(server, "tools/list", { cursor: nextCursor });
  expect(second.body).toMatchObject({ result: { tools: expect.objectContaining({ length: 500 }) } });
  const invalid = await send(server, "tools/list", { cursor: `${nextCursor}x` });
  expect(invalid.body).toMatchObject({ error: { code: -32_602 } });
});

test("resources, their templates and prompts have pages, too", async () => {
  const many = Array.from({ length: 1_001 }, (_, index) => `n${index}`);
  const server = await startMcpServer([], {
    resources: many.map((name) => ({ uri: `docs://${name}`, name, read: () => ({ contents: [] }) })),
    resourceTemplates: many.map((name) => ({
      uriTemplate: `docs://${name}/{page}`,
      name,
      read: () => ({ contents: [] }),
    })),
    prompts: many.map((name) => ({ name, get: () => ({ messages: [] }) })),
  });
  for (const [method, member] of [
    ["resources/list", "resources"],
    ["resources/templates/list", "resourceTemplates"],
    ["prompts/list", "prompts"],
  ] as const) {
    const first = (await send(server, method, {})).body["result"] as Record<string, never>;
    const second = await send(server, method, { cursor: first["nextCursor"] ?? "" });
    expect(first[member]).toHaveLength(1_000);
    expect(second.body).toMatchObject({ result: { [member]: [{ name: "n1000" }] } });
    expect(second.body).not.toHaveProperty("result.nextCursor");
  }
});
