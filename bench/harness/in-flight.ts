import type { Case } from "./case.ts";

/** Returns the same case with `count` calls in flight at once. Each result is checked. */
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

/** Like {@link inFlight}, but each call that completes is followed by another one. */
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
