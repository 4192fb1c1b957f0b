import { describeThrown } from "../../base/thrown.ts";

/** Warns if the changes of a session cannot be held: people are asked about them then. Never rejects. */
export async function warnIfNotHeld(opening: Promise<void>): Promise<void> {
  try {
    await opening;
  } catch (error) {
    process.emitWarning(`The changes of a session cannot be held: ${describeThrown(error).detail}`, {
      code: "SANDGATE_CHANGES_NOT_HELD",
    });
  }
}
