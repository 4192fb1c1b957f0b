import type { Case, Question } from "../harness/case.ts";
import { inFlight } from "../harness/in-flight.ts";
import { openBare, openDurable } from "./calls.ts";

const BARE: Case = { name: "a handler of Restate with one step", open: () => openBare(1) };
const SAME_STEPS: Case = { name: "a handler of Restate with as many steps", open: () => openBare(2) };
const CALL: Case = { name: "a durable call", open: () => openDurable("call") };
const MESSAGE: Case = { name: "a message of a session with one call", open: () => openDurable("message") };

/** What Sandgate adds to an invocation of Restate, on one node and one worker of this machine. */
export const questions: readonly Question[] = [
  { name: "a durable call", cases: [BARE, SAME_STEPS, CALL, MESSAGE] },
  {
    name: "durable calls at once",
    cases: [BARE, SAME_STEPS, CALL, MESSAGE].map((each) => inFlight(64, each)),
  },
];
