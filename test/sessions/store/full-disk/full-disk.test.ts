import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { whyNot } from "../../../journal/disks/run.ts";

const SCRIPT = 'mount -t tmpfs -o size=2m tmpfs "$1" && exec "$2" "$3" "$1"';

const reason = whyNot("full disk");

test.skipIf(reason !== undefined)(
  `A full disk refuses what is new, and loses no end of a call that ran${reason === undefined ? "" : ` (${reason})`}`,
  () => {
    const disk = mkdtempSync(join(tmpdir(), "sandgate-full-"));
    const program = join(import.meta.dirname, "program.ts");
    const args = ["-m", "sh", "-c", SCRIPT, "sh", disk, process.execPath, program];
    const { status, stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
    rmSync(disk, { recursive: true });
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(stdout)).toEqual({
      success: true,
      problem: "the session store failed: the disk is full",
      refused: "session_store_failed",
      begun: ["c1"],
      warnings: [
        "The store of sessions cannot be written, so no call runs: the session store failed: the disk is full",
      ],
      kept: true,
    });
  },
);
