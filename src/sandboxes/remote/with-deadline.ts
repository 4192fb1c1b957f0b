/** Waits for work no longer than it may take and is wanted. What it gives later reaches nobody. */
export async function withDeadline<T>(
  work: Promise<T>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<T | "timeout" | "cancelled"> {
  const { promise: ended, resolve } = Promise.withResolvers<"timeout" | "cancelled">();
  const onAbort = (): void => resolve("cancelled");
  const timer = setTimeout(() => resolve("timeout"), timeoutMs);
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort);
  try {
    return await Promise.race([ended, work]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
