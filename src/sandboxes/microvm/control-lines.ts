import type { Readable } from "node:stream";

/** The most bytes that a machine may send about a call. */
const MAX_BYTES = 4_096;

/**
 * Waits for a line on the control port of a machine.
 *
 * @param read Returns what the line says; `undefined` if it is another line, which is ignored.
 * @returns what it says; `undefined` if the machine sends 4 KiB without it. Does not settle if the machine ends.
 */
export function awaitLine<T>(
  control: Readable,
  read: (line: string) => T | undefined,
): Promise<T | undefined> {
  return new Promise((resolve) => {
    let text = "";
    let bytes = 0;
    const finish = (value: T | undefined): void => {
      control.off("data", onData);
      resolve(value);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      const lines = (text + chunk.toString("latin1")).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const value = read(line);
        if (value === undefined) continue;
        finish(value);
        return;
      }
      if (bytes > MAX_BYTES) finish(undefined);
    };
    control.on("data", onData);
  });
}
