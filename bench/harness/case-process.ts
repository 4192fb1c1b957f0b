/** The process of one case: `node case-process.ts SUITE QUESTION CASE`. Its parent starts each round. */
import { once } from "node:events";
import { openSuite } from "../suites.ts";
import { NotHereError, type OpenCase } from "./case.ts";
import type { FromCase, ToCase } from "./case-message.ts";
import { timeRound } from "./time-round.ts";

const [, , suite = "", question, name] = process.argv;

async function open(): Promise<OpenCase> {
  const questions = await openSuite(suite);
  const asked = questions.find((each) => each.name === question);
  const subject = asked?.cases.find((each) => each.name === name);
  if (subject === undefined) throw new Error(`there is no case '${name}' in '${question}'`);
  return subject.open();
}

function send(message: FromCase): void {
  process.send?.(message);
}

// Exits with the parent, whatever is still open.
process.once("disconnect", () => process.exit());

try {
  const subject = await open();
  send({ kind: "opened" });
  for (;;) {
    const [message] = (await once(process, "message")) as [ToCase];
    if (message.kind === "close") break;
    send({ kind: "round", round: await timeRound(subject, message.roundMs) });
  }
  await subject.close?.();
} catch (error) {
  if (error instanceof NotHereError) send({ kind: "not here", reason: error.message });
  else send({ kind: "failed", reason: error instanceof Error ? (error.stack ?? "") : String(error) });
}
process.disconnect?.();
