import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROGRAMS = ["calls", "namespaces", "reach"];

/** The programs of `programs/`, compiled, in a directory of their own. */
export class Tools implements Disposable {
  readonly directory: string = mkdtempSync(join(tmpdir(), "sandgate-escape-tools-"));
  /** Why they are not there. */
  readonly problem: string | undefined;

  constructor() {
    for (const name of PROGRAMS) {
      const source = join(import.meta.dirname, "programs", `${name}.c`);
      const { error, status, stderr } = spawnSync(
        "cc",
        ["-w", "-o", join(this.directory, name), source, "-lrt"],
        { encoding: "utf8" },
      );
      if (error !== undefined || status !== 0) this.problem = error?.message ?? stderr;
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
