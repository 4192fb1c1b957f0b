import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { AskedCall } from "../../../src/cli/confirm/asked-call.ts";
import { Dialogue } from "../../../src/cli/confirm/dialogue.ts";

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
  expect(await dialogue.ask([call])).toEqual(["deny"]);
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
