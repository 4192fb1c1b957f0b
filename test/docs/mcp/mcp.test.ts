import { readFileSync, realpathSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFolder, sandgate } from "../../cli/sandgate.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";

const text = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
const NODE = realpathSync(process.execPath);
const PACKAGES = realpathSync(resolve(import.meta.dirname, "../../../node_modules"));

// It shows a folder in another place.
test.skipIf(unavailable)("the config of docs/mcp.md reads a file through the reference server", async () => {
  const files = Array.from(text.matchAll(/```yaml file=(\S+)\n(.*?)```/gs), ([, name = "", content = ""]) => [
    name,
    content
      .replace("command: /usr/bin/node", `command: ${NODE}`)
      .replace("      fs:\n", `      fs:\n        - { file: ${NODE}, at: ${NODE} }\n`)
      .replaceAll("/srv/mcp/node_modules", PACKAGES),
  ]);
  const folder = await createFolder(Object.fromEntries(files));
  await mkdir(join(folder, "data"));
  await writeFile(join(folder, "data/a.txt"), "of a");
  const use = (name: string, path: string) => ({ type: "tool_use", id: path, name, input: { path } });
  const content = [use("mcp_files_read_text_file", "/data/a.txt"), use("mcp_files_list_directory", "/data")];
  await writeFile(join(folder, "message.json"), JSON.stringify({ role: "assistant", content }));
  const [, command = ""] = /```sh\nsandgate (.*?)\n```/.exec(text) ?? [];
  const argv = command.split(" ").map((word) => (/\.(yaml|json)$/.test(word) ? join(folder, word) : word));
  const { code, stdout, stderr } = await sandgate(argv);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("of a");
  expect(stdout).toContain("permission_denied");
});

test("the config with calls in docs/mcp.md is read, and its numbers are checked", async () => {
  const [, config = ""] = /```yaml\n(mcp:(?:(?!```).)*? calls:.*?)```/s.exec(text) ?? [];
  const check = async (mcp: string): Promise<string> => {
    const folder = await createFolder({ "sandgate.yaml": `${mcp}policy: { rules: [] }\n` });
    const address = ["mcp", "logout", "search", "--config", join(folder, "sandgate.yaml")];
    return (await sandgate(address)).stderr;
  };
  expect(await check(config)).not.toContain("calls");
  expect(await check(config.replace("maxConcurrent: 16", "maxConcurrent: 0"))).toContain("must be >= 1");
});

test("the config with oauth in docs/mcp.md can be used by the commands beside it", async () => {
  const [, config = "", , logout = ""] =
    /```yaml\n(mcp:(?:(?!```).)*?oauth:.*?)```\n\n```\nsandgate (.*?)\nsandgate (.*?)\n```/s.exec(text) ?? [];
  const folder = await createFolder({ "sandgate.yaml": `${config}policy: { rules: [] }\n` });
  vi.stubEnv("XDG_STATE_HOME", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { code, stdout } = await sandgate(
    logout.split(" ").map((word) => (word.endsWith(".yaml") ? join(folder, word) : word)),
  );
  expect([code, stdout]).toEqual([0, "there were no tokens\n"]);
});
