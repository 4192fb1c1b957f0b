import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { SqliteSuspensionStore } from "../../../../src/programs/stores/sqlite-store.ts";
import type { StoredProgram } from "../../../../src/programs/stores/suspension-store.ts";
import { engineBuild } from "../../../../src/sandboxes/quickjs/suspension/engine-build.ts";
import { sandgate } from "../../sandgate.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-cli-programs-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "sandgate-programs.db");
const PROGRAM: StoredProgram = {
  id: "a1".repeat(16),
  revision: 1,
  state: "waiting",
  sessionId: "s1",
  turnId: "t1",
  messageId: "m1",
  callId: "c1",
  principal: "ann",
  toolName: "run\u001b[31m",
  digest: "d",
  build: engineBuild(),
  template: "t",
  definitions: "e",
  suspendedAt: Date.now(),
  waitUntil: Date.now() + 3_600_000,
  keyId: "k1",
  open: [{ number: 1, toolName: "pay" }],
  sealed: new Uint8Array(10),
};

test("sandgate programs lists, shows and cancels programs, even while a server has the store open", async () => {
  const store = new SqliteSuspensionStore(file);
  await store.put(PROGRAM, []);
  const list = await sandgate(["programs", "list", "--file", file]);
  expect(list.code).toBe(0);
  expect(list.stdout).toContain("a1a1a1a1a1a1");
  expect(list.stdout).toContain("1 call open  60 min left");
  expect(list.stdout).not.toContain("\u001b[31m");
  await store.put({ ...PROGRAM, id: "b2".repeat(16), callId: "c2", build: "b" }, []);
  const both = await sandgate(["programs", "list", "--file", file]);
  expect(both.stdout).toMatch(/^b2b2.*1 call open {2}suspended by another build$/m);
  await store.remove("b2".repeat(16));
  const json = await sandgate(["programs", "list", "--file", file, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject([{ id: PROGRAM.id, open: [{ toolName: "pay" }] }]);
  const show = await sandgate(["programs", "show", "a1a1", "--file", file]);
  expect(show.stdout).toContain("waits for: pay (c1/1)");
  expect(show.stdout).toContain("(suspension 1 of this program)");
  expect((await sandgate(["programs", "show", "ffff", "--file", file])).code).toBe(2);
  // As a script says whose variable is not set.
  expect((await sandgate(["programs", "cancel", "", "--file", file])).code).toBe(2);
  const cancel = await sandgate(["programs", "cancel", "a1a1", "--file", file]);
  expect(cancel.code).toBe(0);
  expect((await sandgate(["programs", "list", "--file", file])).stdout).toContain("no program is suspended");
  store.close();
});

test("sandgate programs finds the store by a config, and makes no new one", async () => {
  const config = join(folder, "sandgate.yaml");
  writeFileSync(config, "version: 1\nsessions: { programs: { keys: keys } }\n");
  expect((await sandgate(["programs", "list", "--config", config])).code).toBe(0);
  writeFileSync(config, "version: 1\n");
  const without = await sandgate(["programs", "list", "--config", config]);
  expect(without.code).toBe(2);
  expect(without.stderr).toContain("has no 'sessions.programs'");
  for (const command of [["list"], ["show", "a"], ["cancel", "a"]]) {
    const missing = await sandgate(["programs", ...command, "--file", join(folder, "other.db")]);
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("other.db' does not exist: a server creates it");
  }
  expect(existsSync(join(folder, "other.db"))).toBe(false);
});
