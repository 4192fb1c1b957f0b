import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../../../src/json/value.ts";
// Inside: the server is a function that wants a page opened after every answer.
import { withPages } from "../../../../../src/sandboxes/remote/mcp-client/questions/rounds.ts";

const PAGE = { mode: "url", url: "https://example.com/in", message: "Sign in", elicitationId: "1" };

/** A call of a server that wants pages opened as often as given. Its client answers with an action, or cannot be asked. */
async function call(times: number, action?: string, elicitations: JsonValue = [PAGE]) {
  const asked: JsonObject[] = [];
  let sent = 0;
  const send = async (): Promise<string> => {
    if (sent++ >= times) return "done";
    throw Object.assign(new Error("a page has to be opened"), { code: -32_042, data: { elicitations } });
  };
  const link = {
    capabilities: {},
    ask: async (_key: string, { params }: { params: JsonObject }): Promise<JsonObject> => {
      asked.push(params);
      if (action === undefined) throw new Error("the client shows no pages");
      return { action };
    },
  };
  const end = await withPages(send, { link, signal: new AbortController().signal }).catch(
    ({ code }: { code: number }) => code,
  );
  return { end, sent, asked };
}

test("a call that wants a page opened is sent again when the person has agreed", async () => {
  expect(await call(1, "accept")).toEqual({ end: "done", sent: 2, asked: [PAGE] });
});

test.each(["decline", "cancel", undefined])("a call whose page is answered with %s fails", async (action) => {
  expect(await call(1, action)).toMatchObject({ end: -32_042, sent: 1 });
});

test("a call that wants a page opened again and again fails after the third time", async () => {
  expect(await call(100, "accept")).toMatchObject({ end: -32_042, sent: 4 });
});

test.each([
  ["none", []],
  ["too many", Array.from({ length: 9 }, () => PAGE)],
  ["no list", { length: 1 }],
])("a call that names %s of pages fails, and nobody is asked", async (_what, elicitations) => {
  expect(await call(1, "accept", elicitations)).toEqual({ end: -32_042, sent: 1, asked: [] });
});

test("what is said of a page has no other mode than that of pages", async () => {
  const { asked } = await call(1, "accept", [{ ...PAGE, mode: "form" }]);
  expect(asked).toEqual([PAGE]);
});
