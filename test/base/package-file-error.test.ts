import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const PROGRAM = `
  import * as sandgate from ${JSON.stringify(join(import.meta.dirname, "../../src/entry/index.ts"))};
  const errorOf = (work) => Promise.resolve().then(work).then(() => "none", (error) => error);
  const tool = { name: "a", description: "A.", inputSchema: { type: "object" }, host: () => 1 };
  (async () => {
    const errors = [
      await errorOf(() => new sandgate.ToolRegistry().register(sandgate.defineTool(tool))),
      await errorOf(() => sandgate.openSandboxes()),
    ];
    console.log(JSON.stringify(errors.map((error) => ({
      name: error.name, code: error.code, message: error.message,
      isTyped: error instanceof sandgate.PackageFileError && error instanceof sandgate.SandgateError,
    }))));
  })();
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandgate-bundled-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe.each([
  { format: "esm", file: "main.mjs" },
  { format: "cjs", file: "main.cjs" },
] as const)("Sandgate in a bundle in the format $format", ({ format, file }) => {
  test("loads, and says that it must be external when it needs one of its files", async () => {
    await build({
      platform: "node",
      input: "program",
      onLog: () => {},
      plugins: [
        {
          name: "program",
          resolveId: (id) => (id === "program" ? id : null),
          load: (id) => (id === "program" ? PROGRAM : null),
        },
      ],
      output: { dir: folder, format, entryFileNames: file, chunkFileNames: `[name]-${file}` },
    });
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, file)]);
    const message = (missing: string): string =>
      `Sandgate cannot find its file '${missing}'. If a bundler moved Sandgate's code, mark 'sandgate' as external ` +
      "and install it where the program runs; otherwise, reinstall it";
    const error = { name: "PackageFileError", code: "package_file_missing", isTyped: true };
    expect(JSON.parse(stdout)).toEqual([
      { ...error, message: message("base/ajv-library") },
      { ...error, message: message("sandboxes/threads/thread-main") },
    ]);
  });
});
