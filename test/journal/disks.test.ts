import { describe, expect, test } from "vitest";
import type { DiskFailure } from "./disks/order.ts";
import { runOnDisk, whyNot } from "./disks/run.ts";

const FAILURES: readonly (readonly [DiskFailure, string])[] = [
  ["closed file", "EBADF"],
  ["file size", "EFBIG"],
  ["full disk", "ENOSPC"],
  ["read-only file system", "EROFS|EIO"],
];
const REFUSED = expect.objectContaining({
  code: "sandbox_unavailable",
  effect: "none",
  message: expect.stringMatching(/^Tool '\w+' was not run: its record could not be written$/),
});

describe.each(FAILURES)("when the journal cannot be written (%s)", (failure, reason) => {
  const skipped = whyNot(failure);
  test.skipIf(skipped !== undefined)(
    `no call runs, of any class, and the reason is told${skipped === undefined ? "" : ` (skipped: ${skipped})`}`,
    { timeout: 60_000 },
    () => {
      const report = runOnDisk(failure);
      expect(report.before).toEqual([true, true]);
      expect(report.after).toEqual([REFUSED, REFUSED, REFUSED]);
      expect(report.problem).toMatch(new RegExp(reason));
      expect(report.recorded).toBe(false);
      expect(report.verified).toBe("sound");
      expect(report.effects.length).toBe(report.ran);
      if (failure === "closed file") {
        expect(report.lost).toBeGreaterThan(0);
        expect(report.waiting).toBeLessThanOrEqual(10_000);
      }
      if (failure === "full disk") expect(report).toMatchObject({ healed: true, lost: 0 });
    },
  );
});
