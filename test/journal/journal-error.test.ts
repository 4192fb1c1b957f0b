import { expect, test } from "vitest";
import { withRemedy } from "../../src/journal/journal-error.ts";

test.each([
  ["ENOSPC: no space left on device, write", "free some space, or move old files"],
  ["'/j/lock' cannot be found: EACCES", "let the user of this process read and write the folder"],
  ["EROFS: read-only file system, open '/j/journal-1.jsonl'", "mount its file system for writing"],
  ["EMFILE: too many open files, open '/j/journal-1.jsonl'", "raise the limit of open files"],
  ["EIO: i/o error, fdatasync", "see what the system's log says of the disk"],
  ["'/j/lock' was removed or renamed while it was open", "put it back as it was, or start the process again"],
])("What the operator reads of %s says what to do", (reason, remedy) => {
  expect(withRemedy(reason)).toContain(`${reason}; ${remedy}`);
});

test("A reason without a known remedy stays as it is", () => {
  expect(withRemedy("EISDIR: illegal operation")).toBe("EISDIR: illegal operation");
});
