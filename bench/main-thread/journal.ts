import { openJournal } from "../../src/journal/journal.ts";
import { dispatched, ended, TemporaryDirectory } from "../../test/journal/records.ts";
import type { StallCase } from "./turn-meter.ts";

/** Opens a journal with records of calls, some of which have not ended. */
function opened(name: string, calls: number, text: string, openAtEnd: number): StallCase {
  return {
    name: `the start of a journal with ${name}`,
    prepare: async (later) => {
      const { path: directory } = later.use(new TemporaryDirectory());
      await using journal = await openJournal({ directory, sync: "none" });
      for (let index = 0; index < calls; index++) {
        await journal.begin(dispatched(`call-${index}`, { text, index }));
        if (index < calls - openAtEnd) journal.end(ended(`call-${index}`));
      }
      return async () => {
        await using _ = await openJournal({ directory, sync: "none" });
      };
    },
  };
}

export const cases: readonly StallCase[] = [
  opened("many records", 20_000, "", 0),
  opened("large records", 30, "x\n".repeat(900_000), 0),
  opened("many calls that had not ended", 20_000, "", 10_000),
];
