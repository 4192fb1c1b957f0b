import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { startServer, TestClient, TOKENS, WritingTool } from "../../server/harness.ts";
import { createFolder, type Outcome, sandgate, type TerminalOptions } from "../sandgate.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "hi" } };

/** A server on which calls of one message wait, and a command that confirms them. */
async function waiting(calls: readonly object[] = [CALL]) {
  const writing = new WritingTool();
  const server = await startServer([writing.tool]);
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  const { turnId } = await alice.dispatch(session, calls);
  const carol = new TestClient(server, "carol");
  await carol.confirmations(calls.length);
  const folder = await createFolder({ token: `${TOKENS.carol}\n` });
  const confirm = (stdin: string, options: TerminalOptions = {}): Promise<Outcome> =>
    sandgate(["confirm", `http://${server.address}`, "--token-file", join(folder, "token")], {
      stdin,
      isInteractive: true,
      ...options,
    });
  return { writing, carol, server, folder, confirm, executions: () => alice.executions(session, turnId) };
}

describe("sandgate confirm", () => {
  test("shows who asks to call what, and the answer of the person runs the call", async () => {
    const { writing, confirm, executions } = await waiting();
    const { code, stdout, stderr } = await confirm("y\n");
    expect(stderr).toContain("alice asks to call 'write_note' (write, call 'c1')");
    expect(stderr).toContain('| {"text":"hi"}');
    expect(stderr).toContain(
      "call 'c1' of 'write_note' (y: allow, n: deny, a: always, n REASON: tell the model why, w: show the whole)?",
    );
    expect([code, stdout]).toEqual([0, "call 'c1' of 'write_note': answered: allow\n"]);
    expect(await executions()).toMatchObject([{ success: true, confirmation: { by: "carol" } }]);
    expect(writing.inputs).toEqual([{ text: "hi" }]);
  });

  test("answers several calls of one message at once, or each of them", async () => {
    const all = await waiting([CALL, { ...CALL, id: "c2" }]);
    expect((await all.confirm("n\n")).stdout).toMatch(/'c1'.*answered: deny\n.*'c2'.*answered: deny\n$/);
    expect(await all.executions()).toMatchObject([
      { error: { code: "user_denied" } },
      { error: { code: "user_denied" } },
    ]);
    const each = await waiting([CALL, { ...CALL, id: "c2" }]);
    expect((await each.confirm("e\ny\nn\n")).stdout).toMatch(
      /'c1'.*answered: allow\n.*'c2'.*answered: deny\n$/,
    );
    expect(await each.executions()).toMatchObject([{ success: true }, { error: { code: "user_denied" } }]);
  });

  test("sends the reason of a denial, which the model reads", async () => {
    const { confirm, executions } = await waiting();
    expect((await confirm("n Use the staging server.\n")).stdout).toContain("answered: deny");
    const message = 'User denied this operation. Their reason: "Use the staging server."';
    expect(await executions()).toMatchObject([{ error: { code: "user_denied", message } }]);
  });

  test("shows everything before it allows a call of which a part was not shown", async () => {
    const text = `${"a".repeat(3_000)}rm -rf /${"b".repeat(3_000)}`;
    const { confirm } = await waiting([{ ...CALL, arguments: { text } }]);
    const { stderr, stdout } = await confirm("y\ny\n");
    const [before = "", after = ""] = stderr.split(
      "something was not shown: here it is, please decide again",
    );
    expect(before).toMatch(/not shown: [\d,]+ characters left out/);
    expect(before).not.toContain("rm -rf /");
    expect(after).toContain("rm -rf /");
    expect(stdout).toContain("answered: allow");
  });

  test("leaves a confirmation open if the input ends before an answer", async () => {
    const { confirm, carol } = await waiting();
    expect(await confirm("what?\n")).toMatchObject({ code: 0, stdout: "" });
    expect(await carol.confirmations()).toHaveLength(1);
  });

  test("only lists without a terminal, and a hostile text cannot look like Sandgate's own words", async () => {
    const text = "x\nalice asks to call 'harmless'\u001b[2K\u202e";
    const { confirm, carol } = await waiting([{ ...CALL, arguments: { text } }]);
    const { stdout } = await confirm("y\n", { isInteractive: false });
    expect(stdout.match(/^alice asks/gm)).toHaveLength(1);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(await carol.confirmations()).toHaveLength(1);
  });

  test("tells the person if another answer was first", async () => {
    const { server, folder } = await waiting();
    const dave = new TestClient(server, "dave");
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const code = run(["confirm", `http://${server.address}`, "--token-file", join(folder, "token")], {
      stdin,
      stdout,
      stderr,
      isInteractive: true,
    });
    for await (const asked of stderr) if (String(asked).includes("y: allow")) break;
    const [confirmation] = await dave.confirmations();
    if (confirmation === undefined) throw new Error("no confirmation");
    await dave.answer(confirmation, { decision: "deny" });
    stdin.end("y\n");
    expect(await code).toBe(0);
    expect(String(stdout.read())).toContain("not counted: dave answered first: deny");
  });

  test("takes its token from the environment, and is told what is wrong with it", async () => {
    const { server, folder } = await waiting();
    const before = process.env["SANDGATE_TOKEN"];
    onTestFinished(() => {
      if (before === undefined) delete process.env["SANDGATE_TOKEN"];
      else process.env["SANDGATE_TOKEN"] = before;
    });
    const url = `http://${server.address}`;
    delete process.env["SANDGATE_TOKEN"];
    expect((await sandgate(["confirm", url])).stderr).toContain("there is no token");
    process.env["SANDGATE_TOKEN"] = TOKENS.carol;
    expect(await sandgate(["confirm", url])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("alice asks"),
    });
    process.env["SANDGATE_TOKEN"] = TOKENS.alice;
    expect(await sandgate(["confirm", url])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("(403)"),
    });
    await writeFile(join(folder, "token"), "a-token-that-is-wrong");
    expect((await sandgate(["confirm", url, "--token-file", join(folder, "token")])).stderr).toContain(
      "(401)",
    );
    expect((await sandgate(["confirm", "ftp://x", "--token-file", join(folder, "token")])).code).toBe(2);
    expect((await sandgate(["confirm"])).stderr).toContain("URL is missing");
  });
});
