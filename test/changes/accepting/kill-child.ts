// Accepts all staged changes of a workspace, and is killed at one of the calls that give names on the disk.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const [workspace = "", killAt = ""] = process.argv.slice(2);
let isCounted = false;
let calls = 0;
for (const name of ["renameSync", "linkSync", "mkdirSync", "rmdirSync"] as const) {
  const original = fs[name] as (...args: unknown[]) => unknown;
  (fs as unknown as Record<string, unknown>)[name] = (...args: unknown[]) => {
    if (isCounted && calls++ === Number(killAt)) process.kill(process.pid, "SIGKILL");
    return original(...args);
  };
}
syncBuiltinESMExports();

const { acceptRecords } = await import("../../../src/changes/accepting/accept.ts");
const { WorkspacePlaces } = await import("../../../src/changes/workspace-places.ts");
const { StagedStore } = await import("../../../src/workspace/staged/staged-store.ts");
const store = new StagedStore(join(workspace, ".sandgate/changes/session"));
const records = store.all();
isCounted = true;
const conflict = await acceptRecords(new WorkspacePlaces(workspace), store, records);
if (conflict !== undefined) throw new Error(`conflict at ${conflict}`);
process.stdout.write(String(calls));
