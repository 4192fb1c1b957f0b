import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
// Inside: asks about calls with hostile ids, without a server on which each of them waits.
import type { AskedCall } from "../../../src/cli/confirmation.ts";
import { Dialogue } from "../../../src/cli/confirmation-dialogue.ts";
import { print } from "../../../src/cli/terminal.ts";
import { shown } from "../../../src/rendering/shown.ts";

const CALL: AskedCall = {
  messageKey: "m",
  principal: "alice",
  callId: "c1",
  toolName: "remove_all",
  sideEffects: "destructive",
  arguments: "{}",
  projectedChanges: [],
  question: "Run it?",
  grant: { sandbox: "host", limits: {}, capabilities: {} },
  choices: ["allow", "deny"],
  expiresAt: Number.MAX_SAFE_INTEGER,
};

async function asked(call: AskedCall): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const dialogue = new Dialogue({ stdin, stdout, stderr });
  stdin.end("n\n");
  const answers: unknown[] = [];
  await dialogue.ask([call], async (_call, answer) => void answers.push(answer));
  expect(answers).toEqual([{ decision: "deny" }]);
  stderr.end();
  return text(stderr);
}

test("a call's id is shown in the question", async () => {
  expect(await asked(CALL)).toContain("call 'c1' of 'remove_all' (y: allow, n: deny");
});

test("a call's id, which a model chooses, cannot end its quotes and go on in Sandgate's words", async () => {
  const output = await asked({ ...CALL, callId: "c1' of 'read_note' (y: allow, n: deny" });
  expect(output).not.toContain("read_note'");
  expect(output).toContain("call 'c1··of··read_note···y:·allow··n:·deny' of 'remove_all'");
});

test("a long id of a call is cut, so that the tool's name stays in sight", async () => {
  expect(await asked({ ...CALL, callId: "x".repeat(1_000) })).toContain(
    `call '${"x".repeat(64)}…' of 'remove_all'`,
  );
});

test("each answer counts at once, while the person thinks about the next call", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  using dialogue = new Dialogue({ stdin, stdout, stderr });
  const answers: unknown[] = [];
  const calls = ["c1", "c2"].map((callId) => ({ ...CALL, callId }));
  const asking = dialogue.ask(calls, async ({ callId }, answer) => void answers.push([callId, answer]));
  stdin.write("e\nn  not in production\n");
  await expect.poll(() => answers).toEqual([["c1", { decision: "deny", reason: "not in production" }]]);
  stdin.end("y\n");
  await asking;
  expect(answers.slice(1)).toEqual([["c2", { decision: "allow" }]]);
});

test("a terminal that says it has 0 columns wraps nothing", async () => {
  const stderr = Object.assign(new PassThrough(), { columns: 0 });
  const line = "a line of a text that is longer than six columns";
  await print(stderr, shown`${line}`);
  stderr.end();
  expect(await text(stderr)).toBe(`${line}\n`);
});
