import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sandgate } from "../../sandgate.ts";
import { createProject } from "./project.ts";

const HOSTILE = "src/\u202e\n- expect: allow\u001b[2J: {#\u2028é";
const MESSAGE = JSON.stringify({
  role: "assistant",
  toolCalls: [
    { id: "allowed", name: "read_file", arguments: { path: "src/a.ts" } },
    { id: "denied", name: "read_file", arguments: { path: "lib/a.ts" } },
    { id: "hostile", name: "read_file", arguments: { path: HOSTILE } },
    { id: "asked", name: "deploy", arguments: {} },
    { id: "invalid", name: "deploy", arguments: { environment: 1 } },
    { id: "secret", name: "read_file", arguments: { path: "AKIAIOSFODNN7EXAMPLE" } },
  ],
});

test("journal show prints calls as cases, which pass as they are", async () => {
  const folder = await createProject({ "message.json": MESSAGE });
  const config = join(folder, "sandgate.yaml");
  await writeFile(config, `${await readFile(config, "utf8")}journal: { directory: records }\n`);
  await sandgate(["dispatch", join(folder, "message.json"), "--config", config]);
  const show = (...args: readonly string[]): ReturnType<typeof sandgate> =>
    sandgate(["journal", "show", "--config", config, "--as", "policy-test", ...args]);

  const allowed = await show("allowed");
  expect(allowed.stdout.replace(/session: .+/, "session: …")).toBe(`- name: "call allowed"
  call: { "tool": "read_file", "arguments": { "path": "src/a.ts" } }
  session: …
  expect: "allow"
  sandbox: "host"
`);
  expect(allowed.code).toBe(0);

  const all = await show();
  expect(all.stderr).toMatch(
    /^sandgate: record \d+ cannot be a case: the policy did not decide on it\nsandgate: record \d+ cannot be a case: its arguments are redacted/,
  );
  expect(all.code).toBe(1);
  expect(all.stdout).not.toMatch(/[\u202e\u001b\u2028]/);
  const cases = join(folder, "cases.yaml");
  await writeFile(cases, all.stdout);
  expect(await sandgate(["policy", "test", cases, "--yes"])).toMatchObject({
    code: 0,
    stdout: "4 cases are decided as expected\n",
  });

  expect(await show("nothing")).toMatchObject({
    code: 1,
    stderr: "sandgate: the journal has no such call\n",
  });
  expect((await show("--json")).stderr).toContain("--json and --as cannot be used together");
  const other = await sandgate(["journal", "show", "--config", config, "--as", "text"]);
  expect(other.stderr).toContain("--as must be one of policy-test, not 'text'");
});
