import type { Signal } from "@preact/signals";
import { messageOf, retryLater } from "./http.ts";

/**
 * Returns a function that reads something, and tries again later if that fails. A call while it reads has it read once more.
 *
 * @param problem Why it could not be read; `""` if it could.
 * @param onDone Called when nothing is left to read.
 */
export function rereading(
  read: () => Promise<void>,
  problem: Signal<string>,
  onDone?: () => void,
): () => Promise<void> {
  let isReading = false;
  let isOutdated = false;
  const reread = async (): Promise<void> => {
    isOutdated = true;
    if (isReading) return;
    isReading = true;
    try {
      while (isOutdated) {
        isOutdated = false;
        await read();
        problem.value = "";
      }
      onDone?.();
    } catch (error) {
      problem.value = messageOf(error);
      retryLater(reread);
    } finally {
      isReading = false;
    }
  };
  return reread;
}
