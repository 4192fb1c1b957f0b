import { expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/json/value.ts";
import type { McpCallLink } from "../../../../../src/sandboxes/remote/mcp-client/questions/open-calls.ts";
// Inside: the server is a function that wants more again and again, to reach the bound of eight rounds.
import { inRounds } from "../../../../../src/sandboxes/remote/mcp-client/questions/rounds.ts";

const FORM = { method: "elicitation/create", params: { message: "?" } };
const SAMPLING = { method: "sampling/createMessage", params: {} };
const ACCEPT = { action: "accept", content: {} };
const DONE = { content: [] };

const accepting: McpCallLink = { capabilities: {}, ask: async () => ACCEPT };
const refusing: McpCallLink = {
  capabilities: {},
  ask: async () => {
    throw new Error("nobody is there");
  },
};
const wants = (inputRequests: unknown, more: object = {}): JsonObject =>
  ({ resultType: "input_required", inputRequests, ...more }) as JsonObject;

/** Sends a request to a server with these results, the last of them again and again. Returns what was sent, and the end. */
async function played(link: McpCallLink | undefined, ...results: readonly JsonObject[]) {
  const sent: JsonObject[] = [];
  const send = async (retry: JsonObject): Promise<JsonObject> => {
    sent.push(retry);
    return results[Math.min(sent.length, results.length) - 1] ?? {};
  };
  const end = await inRounds(send, { link, signal: new AbortController().signal }).catch(
    ({ message }: Error) => message,
  );
  return { sent, end };
}

test("each round has the state of the one before it, and only that", async () => {
  const first = wants({ a: FORM, b: FORM }, { requestState: "s1" });
  const { sent, end } = await played(accepting, first, wants({ c: FORM }), DONE);
  expect(sent).toEqual([
    {},
    { inputResponses: { a: ACCEPT, b: ACCEPT }, requestState: "s1" },
    { inputResponses: { c: ACCEPT } },
  ]);
  expect(end).toBe(DONE);
});

test("a server that wants more after eight rounds gets no more", async () => {
  const { sent, end } = await played(accepting, wants({ a: FORM }, { requestState: "s" }));
  expect([sent.length, end]).toEqual([8, "it wants more input after 8 rounds"]);
});

test("a form that no person was shown is declined; another request that is refused ends the call", async () => {
  const { sent, end } = await played(refusing, wants({ a: FORM }), DONE);
  expect([sent.at(-1), end]).toEqual([{ inputResponses: { a: { action: "decline" } } }, DONE]);
  expect((await played(refusing, wants({ a: SAMPLING }), DONE)).end).toBe("nobody is there");
});

test.each<[string, JsonObject, string]>([
  ["no object", wants([FORM]), "its request for input is malformed"],
  ["a request without a method", wants({ a: {} }), "its request for input is malformed"],
  ["a state that is not a string", wants({}, { requestState: 1 }), "its request for input is malformed"],
  ["a long state", wants({}, { requestState: "x".repeat(65_537) }), "its request for input is malformed"],
  [
    "seventeen requests",
    wants(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, FORM]))),
    "it makes too many requests at once",
  ],
])("a call ends if the server wants %s", async (_, result, problem) => {
  expect(await played(accepting, result)).toEqual({ sent: [{}], end: problem });
});

test("a call without a client ends if the server asks", async () => {
  expect(await played(undefined, wants({ a: FORM }))).toEqual({
    sent: [{}],
    end: "there is no client that it could ask",
  });
});
