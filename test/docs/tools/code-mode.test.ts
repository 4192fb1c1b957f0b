import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

/** The files of a page: its code blocks with `file=`. */
function filesOf(page: string): Readonly<Record<string, string>> {
  const blocks = readFileSync(page, "utf8").matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gms);
  return Object.fromEntries(Array.from(blocks, ([, name, body]) => [name, body]));
}

describe.each(["docs/code-mode.md", "docs/suspension.md"])("%s", (page) => {
  test("has a config that checks without a problem", async () => {
    const folder = await createFolder(filesOf(page));
    expect(await sandgate(["check", "--config", join(folder, "sandgate.yaml")])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 errors, 0 warnings"),
    });
  });
});

test("the message of docs/code-mode.md runs a program that reads files", async () => {
  const folder = await createFolder(filesOf("docs/code-mode.md"));
  const { stdout } = await sandgate([
    "dispatch",
    join(folder, "message.json"),
    "--config",
    join(folder, "sandgate.yaml"),
    "--output",
    "json",
  ]);
  const [execution] = JSON.parse(stdout).executions;
  expect(execution).toMatchObject({ success: true, output: 1 });
  expect(execution.work.calls.map(({ tool }: { tool: string }) => tool)).toEqual([
    "list_directory",
    "read_file",
    "read_file",
  ]);
});
