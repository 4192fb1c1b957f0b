import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
// Inside: answers one question in many ways; only the last test needs a tool that asks it.
import type { AskedQuestion } from "../../../src/cli/confirmation.ts";
import { Dialogue } from "../../../src/cli/confirmation-dialogue.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { startServer, TestClient, TOKENS } from "../../server/harness.ts";
import { createFolder, type Outcome, sandgate, type TerminalOptions } from "../sandgate.ts";

const QUESTION: AskedQuestion = {
  principal: "alice",
  callId: "c1",
  toolName: "ask_user",
  question: "Which name?",
  multiple: false,
  expiresAt: Number.MAX_SAFE_INTEGER,
};
const OPTIONS = { options: ["red", "green", "blue"] };

async function entered(
  input: string,
  more: Partial<AskedQuestion> = {},
): Promise<{ readonly reply: unknown; readonly output: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  using dialogue = new Dialogue({ stdin, stdout, stderr });
  stdin.end(input);
  const reply = await dialogue.askQuestion({ ...QUESTION, ...more });
  stderr.end();
  return { reply, output: await text(stderr) };
}

describe("A question on the terminal", () => {
  test("is answered with a line", async () => {
    const { reply, output } = await entered("Zoë\n");
    expect(reply).toEqual({ answer: "Zoë" });
    expect(output).toContain("to 'ask_user' (call 'c1') asks a question; ");
    expect(output).toContain("\n| Which name?\n");
  });

  test("is answered with the number of an option, or with several", async () => {
    const { reply, output } = await entered("green\n4\n0\n2,3\n2\n", OPTIONS);
    expect(reply).toEqual({ answer: "green" });
    expect(output).toContain("  1: red\n  2: green\n  3: blue\n");
    expect((await entered("1,1\n3, 1\n", { ...OPTIONS, multiple: true })).reply).toEqual({
      answer: ["blue", "red"],
    });
  });

  test("is declined with an empty line, and left open at the end of the input", async () => {
    expect((await entered("  \n")).reply).toBe("deny");
    expect((await entered("")).reply).toBeUndefined();
  });

  test("is shown as a whole before an answer is taken", async () => {
    const question = `${"x".repeat(3_000)} the end of the middle ${"y".repeat(1_000)}`;
    const { reply, output } = await entered("yes\nno\n", { question });
    expect(reply).toEqual({ answer: "no" });
    expect(output).toMatch(/not shown: 2,\d{3} characters left out/);
    expect(output).toContain("the end of the middle");
  });

  test("cannot look like Sandgate's own words", async () => {
    const { output } = await entered("\n", {
      question: "Which?\nyour answer to call 'c2' (one line)?\u202e\u001b[2J",
      options: ["a\n  2: b"],
    });
    expect(output).toContain("\n| your answer to call 'c2' (one line)?\\u202e\\u001b[2J\n");
    expect(output).toContain("  1: a\\n");
    expect(output).not.toMatch(/\n {2}2: b|\u202e|\u001b/);
  });
});

const CALL = { id: "c1", name: "ask_user", arguments: { question: "Which colour?", ...OPTIONS } };

test.each([
  ["2\n", { answer: "green" }],
  ["\n", null],
  ["", null],
])("sandgate dispatch --confirm asks the questions of tools, and takes %j", async (stdin, output) => {
  const call = { id: "c1", type: "function", function: { name: "ask_user", arguments: "{}" } };
  call.function.arguments = JSON.stringify(CALL.arguments);
  const folder = await createFolder({
    "sandgate.yaml":
      "toolsets: [ask]\npolicy: { rules: [{ name: ask, tools: [ask_user], effect: allow, sandboxes: [host] }] }\n",
    "message.json": JSON.stringify({ role: "assistant", content: null, tool_calls: [call] }),
  });
  const files = [join(folder, "message.json"), "-c", join(folder, "sandgate.yaml")];
  const outcome = await sandgate(["dispatch", ...files, "--confirm"], {
    stdin,
    isInteractive: true,
  });
  expect(outcome.stderr).toContain("| Which colour?");
  expect(outcome.stdout).toContain(output === null ? "User declined to answer the question." : "green");
});

test("sandgate confirm shows the questions of tools, and the tool gets the answer", async () => {
  const server = await startServer(toolsOf("ask", {}));
  const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
  const session = await alice.open();
  const { turnId } = await alice.dispatch(session, [CALL]);
  await carol.confirmations();
  const folder = await createFolder({ token: `${TOKENS.carol}\n` });
  const confirm = (options: TerminalOptions): Promise<Outcome> =>
    sandgate(["confirm", `http://${server.address}`, "--token-file", join(folder, "token")], options);
  expect((await confirm({ isInteractive: false })).stdout).toContain("| Which colour?\n  1: red\n");
  const { stdout } = await confirm({ isInteractive: true, stdin: "3\n" });
  expect(stdout).toBe("call 'c1' of 'ask_user': answered: answer\n");
  expect(await alice.executions(session, turnId)).toMatchObject([{ output: { answer: "blue" } }]);
});
