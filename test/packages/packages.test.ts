import { mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { runPackage } from "./run-package.ts";
import { PACKAGE_USES } from "./uses.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const folder = await mkdtemp(join(tmpdir(), "sandgate-packages-"));
await symlink(resolve("node_modules"), join(folder, "node_modules"));

// These are dependencies of this repository. `npm run test:packages` installs and runs the others.
test.each(
  PACKAGE_USES.filter(({ name }) => ["zod", "yaml", "ajv"].includes(name)),
)("$name runs in the sandbox and returns what it returns in Node.js", async (use) => {
  expect(await runPackage(use, folder, sandboxes)).toMatchObject({ problem: undefined });
});
