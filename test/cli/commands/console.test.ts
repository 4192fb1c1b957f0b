import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { send } from "../../executor/harness.ts";
import { createFolder, PROJECT, sandgate } from "../sandgate.ts";

/** Runs `sandgate console` until the test finishes. */
async function running(...argv: readonly string[]) {
  const stdout = Object.assign(new PassThrough(), { columns: 80 });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const interruption = new AbortController();
  const terminal = { stdin: Readable.from([]), stdout, stderr, signal: interruption.signal };
  const code = run(["console", ...argv], terminal);
  onTestFinished(async () => {
    interruption.abort();
    await code;
  });
  let text = "";
  while (!/#token=[\w-]{43}\n/.test(text)) text += String((await once(stdout, "data"))[0]);
  const [, address = "", token = ""] =
    /http:\/\/(127\.0\.0\.1:\d+)\/console\/#token=([\w-]{43})/.exec(text) ?? [];
  const body = JSON.stringify({ token });
  const headers = { origin: `http://${address}`, "content-type": "application/json" };
  const logIn = () => send({ address }, { path: "/v1/console/session", headers, body });
  const answer = await logIn();
  const [cookie = ""] = (answer.headers["set-cookie"] ?? []) as string[];
  const read = async <Body>(path: string): Promise<Body> => {
    const sent = { method: "GET", path, headers: { cookie: cookie.split(";", 1)[0] ?? "" } };
    return JSON.parse((await send({ address }, sent)).text) as Body;
  };
  /** Waits until so many calls have been decided, and returns what became of them. */
  const calls = async (count: number): Promise<readonly string[]> => {
    for (;;) {
      const page = await read<{ calls: { toolName: string; state: string; code?: string }[] }>("/v1/calls");
      const open = page.calls.filter(({ state }) => state === "running");
      if (page.calls.length === count && open.length === 0)
        return page.calls.map(({ toolName, state, code = state }) => `${toolName} ${code}`).sort();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return { text, stderr: () => String(stderr.read() ?? ""), status: answer.status, logIn, read, calls };
}

test("sandgate console prints a link, which the terminal does not break, with which one browser logs in as this user", async () => {
  const folder = await createFolder(PROJECT);
  const { status, logIn, read } = await running("--config", join(folder, "sandgate.yaml"));
  expect(status).toBe(204);
  expect((await logIn()).status).toBe(401);
  expect(await read("/v1/console/session")).toMatchObject({ roles: ["admin", "approver"] });
});

test("sandgate console prints the link last, with nothing but warnings before it, on a terminal", async () => {
  const folder = await createFolder(PROJECT);
  const config = join(folder, "sandgate.yaml");
  const { text, stderr } = await running("--config", config);
  expect(text.trimEnd().split("\n").at(-1)).toMatch(/^http:.*#token=/);
  expect(stderr()).toBe("");
});

test("sandgate console makes the calls of a message", async () => {
  const folder = await createFolder({
    ...PROJECT,
    "message.json": JSON.stringify([{ id: "c1", name: "no_such_tool", arguments: {} }]),
  });
  const { calls } = await running(join(folder, "message.json"), "--config", join(folder, "sandgate.yaml"));
  expect(await calls(1)).toEqual(["no_such_tool not_found"]);
});

test("sandgate console shows an example where there is no config, and says so", async () => {
  const before = process.cwd();
  process.chdir(await createFolder({}));
  onTestFinished(() => process.chdir(before));
  const { text, calls, read } = await running();
  expect(text).toMatch(/there is no sandgate.yaml here: this is an example. '.*sandgate init' creates/);
  expect(await calls(4)).toEqual([
    "read_note completed",
    "save_note waiting",
    "send_mail completed",
    "send_mail permission_denied",
  ]);
  const { calls: denied } = await read<{ calls: { ref: string }[] }>("/v1/calls?code=permission_denied");
  expect(await read(`/v1/calls/${denied[0]?.ref}`)).toMatchObject({
    explanation: {
      decision: "deny",
      near: [
        { rule: "mail to the team", missed: ['/to is "ann@example.com"; the rule allows "*@team.example"'] },
      ],
    },
  });
  expect(readdirSync(".")).toEqual([]);
});

test.each([
  [["--config", "/does/not/exist.yaml"], "sandgate init"],
  [["/does/not/exist.json", "--config", "/does/not/exist.yaml"], "sandgate init"],
  [["--example", "--config", "a.yaml"], "--example has a config"],
  [["--listen", "0.0.0.0:0"], "an address of this machine"],
  [["--listen", "unix:/tmp/socket"], "an address of this machine"],
])("sandgate console refuses %j", async (argv, message) => {
  const { code, stderr } = await sandgate(["console", ...argv]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
