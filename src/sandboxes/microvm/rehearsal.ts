import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { awaitLine } from "./control-lines.ts";
import { GUEST_DIRECTORY, MESSAGE, READY_LINE } from "./guest/keeper-program.ts";
import type { Machine } from "./machine.ts";
import { MICROVM_DEFAULTS } from "./microvm-limits.ts";
import { startMessage } from "./start-message.ts";

/** Reads a line, and writes one to each of its outputs. */
const PROGRAM = {
  command: `/${GUEST_DIRECTORY}/busybox`,
  args: ["sh", "-c", `/${GUEST_DIRECTORY}/busybox head -n 1; echo >&2`],
};

/**
 * Has a machine run a program of Sandgate, and prepare for a call again: QEMU translates the code of a machine when it first
 * runs. The program has the control group of the tool: the most memory of a call that follows is at least its 0.5 MiB.
 *
 * @returns whether it is ready for a call. Does not settle if the machine ends.
 */
export async function rehearse({ control, input, output, errors }: Machine): Promise<boolean> {
  const { memoryBytes, processes } = MICROVM_DEFAULTS;
  const token = randomBytes(MESSAGE.token[1] / 2).toString("hex");
  const isReady = awaitLine(control, (line) => (line === READY_LINE ? true : undefined));
  const outputs = Promise.all([takeByte(output), takeByte(errors)]);
  control.write(startMessage({ ...PROGRAM, token, memoryBytes, processes, env: {} }));
  input.write("\n");
  if (!(await isReady)) return false;
  return (await outputs).every((isOne) => isOne);
}

/** Reads what the rehearsal writes to a stream. Returns whether it was one byte, as it should. */
function takeByte(stream: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    stream.once("data", (chunk: Buffer) => {
      // The next call reads on.
      stream.pause();
      resolve(chunk.length === 1);
    });
  });
}
