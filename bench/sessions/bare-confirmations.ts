import { strictEqual } from "node:assert";
import { allow } from "sandgate";
import { type AnswerOutcome, MemorySessionStore } from "sandgate/sessions";
import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import { LocalConfirmations } from "../../src/sessions/confirmations/local-confirmations.ts";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_TEXT } from "../setting.ts";
import { footprint } from "../soak/footprint.ts";

const { grant } = allow({ sandbox: "host" });

/** Opens a case that answers the oldest of so many confirmations, for which no calls wait. */
export async function openBareAnswer(count: number): Promise<OpenCase> {
  const store = new MemorySessionStore();
  store.addSession({ id: "session", mode: "cautious", kind: "main", openedAt: Date.now() });
  const confirmations = new LocalConfirmations({ store, perPrincipal: count, total: count });
  const open: Confirmation[] = [];
  const before = footprint().heapMiB;
  let asked = 0;
  const ask = (): Promise<unknown> =>
    confirmations.ask(newQuestion(asked++), { onAsked: (each) => open.push(each) });
  for (let i = 0; i < count; i++) void ask();
  while (open.length < count) await null;
  const heapMiB = footprint().heapMiB - before;
  return {
    before: async () => {
      if (open.length < count) void ask();
      while (open.length < count) await null;
    },
    run: () => {
      const { id, digest } = open.shift() as Confirmation;
      return confirmations.answer(id, { decision: "allow", digest, by: "bench" });
    },
    check: (answer) => strictEqual((answer as AnswerOutcome).outcome, "resolved"),
    observed: () => ({ [`MiB of heap for ${count} open confirmations`]: heapMiB }),
    close: () => confirmations.close(),
  };
}

function newQuestion(n: number): Parameters<LocalConfirmations["ask"]>[0] {
  return {
    kind: "call",
    sessionId: "session",
    turnId: "turn",
    messageId: `turn.${n}`,
    callId: `call_${n}`,
    digest: String(n).padStart(64, "0"),
    choices: ["allow", "deny"],
    shown: {
      toolName: "echo",
      sideEffects: "write",
      question: `Run the tool 'echo' (write, ${n})?`,
      grant,
      inputSummary: { text: `${INPUT_TEXT} ${n}`, missing: "", isPartial: false },
      arguments: `${INPUT_TEXT}${n}`,
      projectedChanges: [],
      rules: [],
    },
  };
}
