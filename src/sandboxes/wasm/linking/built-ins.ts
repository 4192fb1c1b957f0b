/** Built-in functions that are not supported, by consecutive codes (`Binary.md`, `canon`). */
const NAMES: readonly (readonly [from: number, names: string])[] = [
  [
    0x05,
    "task.cancel subtask.cancel resource.drop-async backpressure.set task.return context.get context.set",
  ],
  [
    0x0c,
    "thread.yield subtask.drop stream.new stream.read stream.write stream.cancel-read stream.cancel-write",
  ],
  [0x13, "stream.drop-readable stream.drop-writable future.new future.read future.write future.cancel-read"],
  [0x19, "future.cancel-write future.drop-readable future.drop-writable error-context.new"],
  [
    0x1d,
    "error-context.debug-message error-context.drop waitable-set.new waitable-set.wait waitable-set.poll",
  ],
  [0x22, "waitable-set.drop waitable.join backpressure.inc backpressure.dec"],
];

/** Returns the name of a built-in function that is not supported, for messages. */
export function builtInName(form: number): string {
  for (const [from, names] of NAMES) {
    const name = names.split(" ")[form - from];
    if (name !== undefined) return name;
  }
  return `thread functions (0x${form.toString(16)})`;
}
