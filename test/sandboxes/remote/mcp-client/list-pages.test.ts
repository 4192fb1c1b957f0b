import { expect, test } from "vitest";
import type { JsonValue } from "../../../../src/json/value.ts";
import { listPages } from "../../../../src/sandboxes/remote/mcp-client/lists.ts";

test.each<[JsonValue, number | undefined]>([
  [60_000, 60_000],
  [1e300, 24 * 60 * 60_000],
  [-1, undefined],
  ["60000", undefined],
  [null, undefined],
])("a list whose ttlMs is %j holds for %s ms", async (ttlMs, expected) => {
  const list = { method: "tools/list", member: "tools", maxItems: 10 };
  expect(await listPages(async () => ({ tools: [1], ttlMs }), list)).toEqual({
    items: [1],
    problems: [],
    ttlMs: expected,
  });
});
