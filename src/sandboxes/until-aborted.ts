/** Waits for work that others may share, no longer than it is wanted here. */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | "aborted"> {
  if (signal === undefined) return work;
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const onAbort = (): void => resolve("aborted");
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
