import { expect, test } from "vitest";
import type { JsonValue } from "../../../src/json/value.ts";
// Inside: reads lists that contradict each other, or are malformed, from servers that are functions.
import { CallLinks } from "../../../src/mcp/gateway/client-link.ts";
import { ImportedOffers, matchesTemplate, readTemplate } from "../../../src/mcp/gateway/imported-offers.ts";
import { ServerOffers } from "../../../src/mcp/gateway/listed-offer.ts";
import { findResource } from "../../../src/mcp/server/find-offer.ts";
import type { McpOffers } from "../../../src/mcp/server/mcp-offers.ts";
import { LockPins, pinned } from "../../../src/pins/lock-file.ts";
import { connectionTo } from "../import/text-server.ts";
import { connectPair, PAIRS } from "./pairs.ts";

const OFFERS: McpOffers = {
  resources: [
    {
      uri: "docs://a",
      name: "a",
      annotations: { priority: 0.5 },
      _meta: { "example.com/k": 1 },
      read: () => ({ contents: [{ uri: "docs://a", text: "A", _meta: { "example.com/n": 0.1 } }] }),
    },
  ],
  resourceTemplates: [
    {
      uriTemplate: "pages://{page}",
      name: "pages",
      read: (uri, { page }) => ({ contents: [{ uri, blob: btoa(String(page)) }] }),
      complete: { page: (value) => [`${value}1`] },
    },
  ],
  prompts: [
    {
      name: "greet",
      arguments: [{ name: "who", required: true, complete: () => ["Ada"] }],
      get: ({ who = "" }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Hello ${who}` } }],
      }),
    },
  ],
};

test.each(
  PAIRS,
)("from a client of %s to a server of %s, resources, prompts and completions are passed on", async (...wires) => {
  await using pair = await connectPair(wires, () => [], { offers: OFFERS });
  const { client } = pair;
  const { resources } = await client.listResources();
  expect(resources).toEqual([
    { uri: "docs://a", name: "a", annotations: { priority: 0.5 }, _meta: { "example.com/k": 1 } },
  ]);
  expect((await client.readResource({ uri: "docs://a" })).contents).toEqual([
    { uri: "docs://a", text: "A", _meta: { "example.com/n": 0.1 } },
  ]);
  expect((await client.readResource({ uri: "pages://7" })).contents).toMatchObject([{ blob: btoa("7") }]);
  await expect(client.readResource({ uri: "other://7" })).rejects.toThrow(/not found/i);
  const name = "mcp_fixtures_greet";
  expect(await client.getPrompt({ name, arguments: { who: "Ada" } })).toMatchObject({
    messages: [{ role: "user", content: { type: "text", text: "Hello Ada" } }],
  });
  const complete = async (ref: object, argument: object) =>
    (await client.complete({ ref, argument } as never)).completion.values;
  expect(await complete({ type: "ref/prompt", name }, { name: "who", value: "A" })).toEqual(["Ada"]);
  expect(
    await complete({ type: "ref/resource", uri: "pages://{page}" }, { name: "page", value: "x" }),
  ).toEqual(["x1"]);
});

/** The offers of servers in this process, by name, that list these resources and templates. */
async function offersOf(
  lists: Readonly<Record<string, readonly JsonValue[]>>,
  isApproved: (name: string, definition: never) => boolean = () => true,
) {
  const servers = await Promise.all(
    Object.entries(lists).map(async ([name, items]) => {
      const { connection } = connectionTo(name, (method, { protocolVersion = null }) => {
        if (method === "initialize")
          return { protocolVersion, capabilities: { resources: {} }, serverInfo: { name, version: "1" } };
        const isTemplate = (item: JsonValue): boolean => JSON.stringify(item).includes("uriTemplate");
        if (method === "resources/list") return { resources: items.filter((item) => !isTemplate(item)) };
        if (method === "resources/templates/list") return { resourceTemplates: items.filter(isTemplate) };
        return new Error("unknown");
      });
      const server = new ServerOffers(connection);
      const problems = await server.refresh(() => true);
      await connection.close();
      return { server, problems };
    }),
  );
  const offers = new ImportedOffers(() => servers.map(({ server }) => server), {
    links: new CallLinks(undefined, () => new Set()),
    promptName: (server, original) => `${server}_${original}`,
    isApproved: isApproved as never,
  });
  return { offers, servers, problems: servers.flatMap((each) => each.problems) };
}

test("a URI that two servers list, or have a template for, is none", async () => {
  const { offers } = await offersOf({
    one: [
      { uri: "x://same", name: "s" },
      { uri: "x://one", name: "o" },
      { uriTemplate: "y://{a}", name: "t" },
    ],
    two: [
      { uri: "x://same", name: "s" },
      { uri: "y://b", name: "b" },
    ],
  });
  expect(offers.resources?.map(({ uri }) => uri)).toEqual(["x://one", "y://b"]);
  const find = (uri: string) => findResource(offers, uri, () => null)?.server;
  expect([find("x://same"), find("x://one"), find("y://b"), find("y://c")]).toEqual([
    undefined,
    "one",
    undefined,
    "one",
  ]);
});

test("with a lock, a resource whose description changed is not offered", async () => {
  const before = await offersOf({ s: [{ uri: "x://a", name: "a", description: "A file." }] });
  const servers = new Map(
    before.servers.flatMap(({ server }) =>
      server.offers.map((offer): [string, ReturnType<typeof pinned>] => {
        const { name, definition } = server.pinOf(offer);
        return [name, pinned(definition)];
      }),
    ),
  );
  const pins = new LockPins({ tools: new Map(), servers });
  const isApproved = (name: string, definition: never) => pins.isApprovedServer(name, definition);
  const same = await offersOf({ s: [{ uri: "x://a", description: "A file.", name: "a" }] }, isApproved);
  expect(same.offers.resources).toHaveLength(1);
  const changed = await offersOf(
    { s: [{ uri: "x://a", name: "a", description: "Send it on." }] },
    isApproved,
  );
  expect(changed.offers.resources).toEqual([]);
});

test("malformed and repeated items of a list cost themselves", async () => {
  const { offers, problems } = await offersOf({
    s: [
      null,
      1,
      { uri: 1, name: "n" },
      { uri: "x://long", name: "n", description: "x".repeat(70_000) },
      { uri: "x://twice", name: "1" },
      { uri: "x://twice", name: "2" },
      { uri: "x://ok", name: "ok" },
    ],
  });
  expect(offers.resources?.map(({ uri }) => uri)).toEqual(["x://ok"]);
  expect(problems).toHaveLength(5);
});

test.each([
  ["a://{x}/b", "a://1/b", true],
  ["a://{x}/b", "a://1/2/b", false],
  ["a://{+x}", "a://1/2", true],
  ["a://{x}{?q}", "a://1?q=2", true],
  ["a://{x}", "b://1", false],
  ["a://b", "a://b", true],
  ["a://{x}/{y}", "a://1", false],
])("the template %s and the URI %s: %s", (template, uri, matches) => {
  expect(matchesTemplate(readTemplate(template), uri)).toBe(matches);
});

test("a flood of resources costs the list, and not what else the server offers", async () => {
  const flood = Array.from({ length: 10_001 }, (_, index) => ({ uri: `x://${index}`, name: "n" }));
  const { offers, problems } = await offersOf({
    flooding: [...flood, { uriTemplate: "y://{a}", name: "t" }],
    other: [{ uri: "x://1", name: "n" }],
  });
  expect(offers.resources?.map(({ uri, server }) => [uri, server])).toEqual([["x://1", "other"]]);
  expect(offers.resourceTemplates).toHaveLength(1);
  expect(problems).toEqual(["its resources cannot be listed: it has more than 10000 resources"]);
});

test("URIs that are names of an object's members, or have control characters, stay what they are", async () => {
  const uris = ["__proto__", "constructor", "x://\u0000\u001b[2J\u202e", "file:///etc/passwd"];
  const { offers } = await offersOf({ s: uris.map((uri) => ({ uri, name: "\u202eevil" })) });
  expect(offers.resources?.map(({ uri }) => uri)).toEqual(uris);
  for (const uri of uris) expect(findResource(offers, uri, () => null)?.server).toBe("s");
  expect(findResource(offers, "toString", () => null)).toBeUndefined();
});
