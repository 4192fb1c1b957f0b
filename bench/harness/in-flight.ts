import type { Case } from "./case.ts";

/** The same case with that many calls under way at once; each answer is checked. */
export function inFlight(count: number, subject: Case): Case {
  const { name, open, ...others } = subject;
  return {
    ...others,
    name: `${count} at once: ${name}`,
    calls: count * (subject.calls ?? 1),
    open: async () => {
      const opened = await open();
      return {
        ...opened,
        run: () => Promise.all(Array.from({ length: count }, opened.run)),
        check: (answers) => (answers as unknown[]).forEach(opened.check),
      };
    },
  };
}

/** As {@link inFlight}, where each of the calls that are under way is followed by another one when it ends. */
export function sustained(count: number, callsEach: number, subject: Case): Case {
  const { name, open, ...others } = subject;
  const following: Case = {
    ...others,
    name,
    calls: callsEach,
    open: async () => {
      const opened = await open();
      const run = async (): Promise<unknown> => {
        let answer: unknown;
        for (let i = 0; i < callsEach; i++) answer = await opened.run();
        return answer;
      };
      return { ...opened, run };
    },
  };
  return inFlight(count, following);
}
