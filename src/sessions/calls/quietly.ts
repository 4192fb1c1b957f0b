import { describeThrown } from "../../base/thrown.ts";

/** Writes to a store what no caller can be told if it fails: the process is warned. Never rejects. */
export async function quietly(write: () => unknown): Promise<void> {
  try {
    await write();
  } catch (thrown) {
    process.emitWarning(`The store of sessions failed: ${describeThrown(thrown).message}`, {
      code: "SANDGATE_SESSION_STORE_FAILED",
    });
  }
}
