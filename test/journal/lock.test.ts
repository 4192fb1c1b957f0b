import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openJournal } from "../../src/journal/journal.ts";
import { recordCalls, TemporaryDirectory } from "./records.ts";

const JOURNAL = new URL("../../src/journal/journal.ts", import.meta.url).href;

/** Whether the kernel says which locks there are: Linux does, other systems do not. */
const LISTED = existsSync("/proc/locks");

/** Opens a journal in another process. Returns why that fails, or what `go` prints. */
function openElsewhere(directory: string): string {
  const code = `import { openJournal } from ${JSON.stringify(JOURNAL)};
    const journal = await openJournal({ directory: ${JSON.stringify(directory)} }).catch((error) => console.log(error.message));
    if (journal !== undefined) { console.log("open"); await journal.close(); }`;
  return String(spawnSync(process.execPath, ["--input-type=module", "-e", code]).stdout);
}

test.skipIf(!LISTED)(
  "A journal is locked again after code of its process has closed the file of the lock (needs /proc/locks)",
  async () => {
    using temporary = new TemporaryDirectory();
    const directory = join(temporary.path, "records");
    const journal = await openJournal({ directory });
    onTestFinished(() => journal.close());
    const path = join(directory, "lock");
    const isLocked = (): boolean => readFileSync("/proc/locks", "utf8").includes(` WRITE ${process.pid} `);
    expect(isLocked()).toBe(true);
    closeSync(openSync(path, "r"));
    expect(isLocked()).toBe(false);
    await vi.waitFor(() => expect(isLocked()).toBe(true), { timeout: 20_000 });
    expect(openElsewhere(directory)).toContain("is open already");
    await recordCalls(journal, 1);
    expect(journal.problem).toBeUndefined();
  },
);

test.skipIf(!LISTED)(
  "A journal whose lock another process got meanwhile runs no call (needs /proc/locks)",
  async () => {
    using temporary = new TemporaryDirectory();
    const directory = join(temporary.path, "records");
    const journal = await openJournal({ directory });
    onTestFinished(() => journal.close().catch(() => {}));
    await vi.waitFor(
      () => {
        closeSync(openSync(join(directory, "lock"), "r"));
        expect(openElsewhere(directory)).toContain("open");
        expect(journal.problem).toContain("another process");
      },
      { timeout: 30_000 },
    );
    await expect(recordCalls(journal, 1)).rejects.toThrow("the journal cannot write");
  },
);
