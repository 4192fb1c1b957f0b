import { setImmediate as immediate } from "node:timers/promises";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { sustained } from "../harness/in-flight.ts";
import { LINE_BYTES, openBareLoop, openDigests } from "./bare-loop.ts";
import { newJsonLine, openBegin, openRecordedRead, openVerify } from "./recorded.ts";

const IN_FLIGHT: readonly number[] = [1, 16, 64];
const RECORDS_EACH = 16;
const LINE = `${"x".repeat(LINE_BYTES)}\n`;
const VERIFIED = 100_000;

/** How fast records are durable. */
const journal: Question = {
  name: "journal",
  scale: "records in flight",
  cases: IN_FLIGHT.flatMap((at): Case[] => {
    const cases: readonly Case[] = [
      { name: "write and grouped fdatasync, of the same line", open: () => openBareLoop(() => LINE) },
      { name: "of records as plain JSON", open: () => openBareLoop(newJsonLine) },
      { name: "a journal's records", open: openBegin },
    ];
    const inFlight = cases.map((each) => sustained(at, RECORDS_EACH, each));
    return inFlight.map((each) => ({ ...each, at, floor: inFlight[0]?.name ?? "" }));
  }),
};

/** What the two records of a call cost the thread that dispatches it. */
const caller: Question = {
  name: "journal-caller",
  cases: [false, true].map((isRecorded) =>
    metered(
      sustained(64, RECORDS_EACH, {
        name: isRecorded ? "and two records in a journal" : "dispatch of a tool that reads",
        open: () => openRecordedRead(isRecorded),
      }),
    ),
  ),
};

/** Verifying, in one thread. */
const verify: Question = {
  name: "journal-verify",
  cases: [
    { name: "SHA-256 of each line", calls: VERIFIED, open: () => openDigests(VERIFIED) },
    { name: "verifyJournal", calls: VERIFIED, open: () => openVerify(VERIFIED) },
  ],
};

/** Measures the CPU time of this thread. */
function metered(subject: Case): Case {
  const { calls = 1 } = subject;
  const open = async (): Promise<OpenCase> => {
    const opened = await subject.open();
    let dispatched = 0;
    let before = process.threadCpuUsage();
    return {
      ...opened,
      run: async () => {
        dispatched += calls;
        const answer = await opened.run();
        // Calls that wait for nothing would never let the journal write.
        await immediate();
        return answer;
      },
      beside: async () => {
        before = process.threadCpuUsage();
        dispatched = 0;
        return () => {};
      },
      observed: () => {
        const { user, system } = process.threadCpuUsage(before);
        return { "µs of this thread for each call": (user + system) / dispatched };
      },
    };
  };
  return { ...subject, open };
}

/** The questions about the journal. */
export const questions: readonly Question[] = [journal, caller, verify];
