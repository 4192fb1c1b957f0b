import { join } from "node:path";
import { expect, test } from "vitest";
// Inside: reads where the database is; `sandgate serve` would connect to it.
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import { readPostgresOptions } from "../../../src/cli/config/server/load-durable.ts";
import { createFolder } from "../sandgate.ts";

const CONFIG = {
  tools: [{ name: "t", description: "d", inputSchema: {}, quickjs: { source: "export default () => 1" } }],
  policy: { rules: [{ tools: ["t"], effect: "allow", sandboxes: ["quickjs"] }] },
};

async function load(durable: unknown, more: object = {}, files: Record<string, string> = {}) {
  const folder = await createFolder({
    "sandgate.yaml": JSON.stringify({ ...CONFIG, ...more, durable }),
    ...files,
  });
  const { durable: loaded, problems } = await loadConfig(join(folder, "sandgate.yaml"));
  return { folder, loaded, texts: problems.map(({ message }) => message) };
}

test("durable.postgres takes a URL, or names the file or the variable that has it", async () => {
  expect((await load({ postgres: "postgres://db.test/agents" })).loaded).toEqual({
    postgres: { url: "postgres://db.test/agents" },
  });
  const url = { url: { env: "DATABASE_URL" }, schema: "team_a", lease: "30s" };
  expect((await load({ postgres: url })).loaded).toEqual({
    postgres: { url: { env: "DATABASE_URL" }, schema: "team_a", leaseMs: 30_000 },
  });
  const secret = "postgres://sandgate:secret@db.test/agents";
  const { loaded } = await load({ postgres: { url: { file: "url" } } }, {}, { url: `${secret}\n` });
  if (loaded?.postgres === undefined) throw new Error("no postgres");
  expect(await readPostgresOptions(loaded.postgres)).toEqual({ url: secret });
});

test.each([
  [
    { postgres: "postgres://a:secret@db.test/x" },
    "the URL has a password, which does not belong here: write url: { file } or { env }",
  ],
  [{ postgres: "http://db.test" }, "the URL of PostgreSQL must begin with postgres://"],
  [{ postgres: { url: "postgres://db.test", schema: 'x"; DROP' } }, /^the schema of PostgreSQL must have/],
  [
    { postgres: { url: "postgres://db.test", lease: "1ms" } },
    "the lease of PostgreSQL must be 500 ms to 10 min",
  ],
  [{ postgres: "postgres://db.test", restate: "http://r" }, /must have either restate or postgres/],
  [{}, /must have either restate or postgres/],
])("durable %j is refused, and shows no password", async (durable, message) => {
  const { loaded, texts } = await load(durable);
  expect(loaded).toBeUndefined();
  expect(texts).toEqual([expect.stringMatching(message)]);
  expect(texts.join()).not.toContain("secret");
});

test("durable.postgres and sessions.store contradict each other", async () => {
  const { texts } = await load({ postgres: "postgres://db.test/x" }, { sessions: { store: "s.db" } });
  expect(texts).toEqual(["sessions.store must be absent: PostgreSQL keeps the sessions"]);
});

test("durable.postgres names a variable that is not set", async () => {
  await expect(readPostgresOptions({ url: { env: "SANDGATE_NO_SUCH_VARIABLE" } })).rejects.toThrow(
    "the environment variable SANDGATE_NO_SUCH_VARIABLE is not set",
  );
});
