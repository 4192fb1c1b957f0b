import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { sandgate } from "../cli/sandgate.ts";
import { projectEnvironment } from "./built-project.ts";

const folder = await mkdtemp(join(tmpdir(), "sandgate-new-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

// `wasm-tools.test.ts` builds and tests the projects that have to be installed, and `.ci/run` follows the cookbook with the
// others.
test.each(["javascript", "assemblyscript"])("a new project in %s passes its tests", async (language) => {
  const project = join(folder, language);
  expect(await sandgate(["tool", "new", project, "-l", language])).toMatchObject({ code: 0 });
  const env = await projectEnvironment();
  const { stdout } = await promisify(execFile)("npm", ["test"], { cwd: project, env });
  expect(stdout).toMatch(/pass [1-9]/);
  expect(stdout).toMatch(/fail 0/);
});
