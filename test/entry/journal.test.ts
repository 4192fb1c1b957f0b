import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/journal exports exactly these names", async () => {
  expect(await exportedNames("journal")).toEqual({
    values: ["Journal", "JournalError", "createJournalKeys", "openJournal", "verifyJournal"],
    types: [
      "Anchor",
      "ContradictionKind",
      "JournalContradiction",
      "JournalKeys",
      "JournalNotice",
      "JournalOptions",
      "JournalReport",
      "VerifyOptions",
    ],
  });
});
