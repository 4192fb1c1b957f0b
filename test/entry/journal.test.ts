import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/journal exports exactly these names", async () => {
  expect(await exportedNames("journal")).toEqual({
    values: [
      "Journal",
      "JournalError",
      "JournalHistory",
      "createJournalKeys",
      "diffPolicies",
      "forgetSession",
      "openJournal",
      "readJournal",
      "replayJournal",
      "verifyJournal",
    ],
    types: [
      "Anchor",
      "ChangedCalls",
      "ContradictionKind",
      "DecisionChange",
      "HistoryCall",
      "HistoryPage",
      "HistoryQuery",
      "JournalBatch",
      "JournalContradiction",
      "JournalEntry",
      "JournalKeys",
      "JournalNotice",
      "JournalOptions",
      "JournalPosition",
      "JournalReport",
      "JournalSummary",
      "MissingArguments",
      "PolicyDiff",
      "PolicyDiffOptions",
      "RecordedCall",
      "ReplayDifference",
      "ReplayReport",
      "UndecidableCause",
      "VerifyOptions",
    ],
  });
});
