import fc from "fast-check";
import { expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { ToolIndex } from "../../../src/programs/catalogue/catalogue-tools.ts";
// Inside: compares the stems of words, of which a search shows only an order of tools.
import { stem, wordsOf } from "../../../src/programs/catalogue/query-words.ts";
import { tool } from "../harness.ts";
import { HELD_OUT_SEARCH_QUERIES, MORE_SEARCH_QUERIES } from "./more-queries.ts";
import { SEARCH_QUERIES, SEARCH_TOOLS, type SetQuery, UNSEEN_SEARCH_QUERIES } from "./search-set.ts";

const anyTool = (): boolean => true;

const registry = new ToolRegistry();
for (const { name, description, sideEffects, parameters } of SEARCH_TOOLS) {
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter, { type: "string" }]));
  registry.register(
    tool(name, () => null, { description, sideEffects, inputSchema: { type: "object", properties } }),
  );
}

function missed(queries: readonly SetQuery[]): readonly string[] {
  const index = new ToolIndex(registry, []);
  return queries.flatMap(({ query, wanted }) => {
    const found = index.search(query, 3, anyTool).map(({ name }) => name);
    return wanted.some((name) => found.includes(name)) ? [] : [`${query}: ${found}`];
  });
}

test.each([
  ["the requests by which it was tuned", [...SEARCH_QUERIES, ...MORE_SEARCH_QUERIES], 0.92],
  ["requests whose misses it was not tuned by", UNSEEN_SEARCH_QUERIES, 0.92],
  ["the hardest requests, which it was not tuned by", HELD_OUT_SEARCH_QUERIES, 0.65],
])("a right tool is among the first three for most of %s", (what, queries, least) => {
  expect(SEARCH_TOOLS.length).toBeGreaterThanOrEqual(120);
  expect(queries.length).toBeGreaterThanOrEqual(40);
  const list = missed(queries);
  console.log(
    `recall@3 of search_tools, ${what}: ${queries.length - list.length} of ${queries.length}` +
      ` (${(100 * (1 - list.length / queries.length)).toFixed(1)} %)`,
  );
  expect(1 - list.length / queries.length, list.join("\n")).toBeGreaterThanOrEqual(least);
});

test("forms of a word meet, in any style of a name", () => {
  for (const forms of [
    ["create", "creates", "creating", "created", "creation"],
    ["file", "files", "filed", "filing"],
    ["repository", "repositories"],
    ["search", "searches", "searching"],
    ["delete", "deleting", "deletion"],
    ["box", "boxes"],
  ]) {
    expect(new Set(forms.map(stem)).size, forms.join()).toBe(1);
  }
  expect(wordsOf("listPullRequests")).toEqual(wordsOf("list_pull-requests"));
  expect(wordsOf("open PRs and VMs")).toEqual(wordsOf("open PR, VM"));
  expect(wordsOf("HTTPServer2")).toEqual(["http", "serv", "2"]);
});

test("a question is for tools that change nothing, as far as they say so", () => {
  const both = new ToolRegistry()
    .register(tool("close_ticket", () => null, { description: "Tickets", sideEffects: "write" }))
    .register(tool("list_ticket", () => null, { description: "Tickets", sideEffects: "read" }));
  const index = new ToolIndex(both, []);
  const first = (query: string): string | undefined => index.search(query, 1, anyTool)[0]?.name;
  expect(first("ticket")).toBe("close_ticket");
  expect(first("Is there a ticket?")).toBe("list_ticket");
  expect(first("what tickets are open")).toBe("list_ticket");
  expect(first("Whatever ticket")).toBe("close_ticket");
});

test("only tools that are accepted are found, and the index follows the registry", () => {
  const changing = new ToolRegistry().register(tool("read_mail", () => null));
  const index = new ToolIndex(changing, ["secret_mail"]);
  const found = (accepts = anyTool as (name: string) => boolean): readonly string[] =>
    index.search("mail", 3, accepts).map(({ name }) => name);
  expect(found()).toEqual(["read_mail"]);
  changing.register(tool("send_mail", () => null)).register(tool("secret_mail", () => null));
  expect(found()).toEqual(["read_mail", "send_mail"]);
  expect(found((name) => name !== "read_mail")).toEqual(["send_mail"]);
  changing.unregister("send_mail");
  expect(found()).toEqual(["read_mail"]);
});

test("any query gives tools of the index, each once, and leaves nothing for the next", () => {
  const index = new ToolIndex(registry, []);
  const merging = (): readonly string[] =>
    index.search("merge a pull request", 5, anyTool).map(({ name }) => name);
  const before = merging();
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.lorem()), fc.nat(10), (query, limit) => {
      const found = index.search(query, limit, anyTool);
      expect(found.length).toBeLessThanOrEqual(limit);
      expect(new Set(found).size).toBe(found.length);
      expect(merging()).toEqual(before);
    }),
  );
});
