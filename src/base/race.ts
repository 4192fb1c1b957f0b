/** Waits for work that others may share, no longer than it is wanted here. */
export async function untilAborted<T>(
  work: Promise<T>,
  ...signals: readonly (AbortSignal | undefined)[]
): Promise<T | "aborted"> {
  const { promise: aborted, resolve } = Promise.withResolvers<"aborted">();
  const onAbort = (): void => resolve("aborted");
  for (const signal of signals) {
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
  }
  try {
    return await Promise.race([aborted, work]);
  } finally {
    for (const signal of signals) signal?.removeEventListener("abort", onAbort);
  }
}
