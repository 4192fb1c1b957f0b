import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/journal exports exactly these names", async () => {
  expect(await exportedNames("journal")).toEqual({
    values: [
      "Journal",
      "JournalError",
      "createJournalKeys",
      "forgetSession",
      "openJournal",
      "readJournal",
      "replayJournal",
      "verifyJournal",
    ],
    types: [
      "Anchor",
      "ContradictionKind",
      "JournalBatch",
      "JournalContradiction",
      "JournalEntry",
      "JournalKeys",
      "JournalNotice",
      "JournalOptions",
      "JournalPosition",
      "JournalReport",
      "ReplayDifference",
      "ReplayReport",
      "UndecidableCause",
      "VerifyOptions",
    ],
  });
});
