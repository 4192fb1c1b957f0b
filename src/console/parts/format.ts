/** Writes a duration, such as `0.12 ms`, `31 ms`, `1.4 s`, `3 min`, `5 h` or `7 days`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return "";
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`;
}

/** Writes a time of today as `14:03:12`, and others with their date. Takes milliseconds since the epoch or an ISO 8601 text. */
export function time(at: number | string | undefined): string {
  if (at === undefined) return "";
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  const clock = date.toLocaleTimeString(undefined, { hour12: false });
  return date.toDateString() === new Date().toDateString() ? clock : `${date.toLocaleDateString()} ${clock}`;
}

/** Writes when something began: `14:03` today, and the date of others. Takes milliseconds since the epoch. */
export function clock(at: number): string {
  const date = new Date(at);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false })
    : date.toLocaleDateString();
}

/** Writes an amount with its noun: `1 call`, `1,234 calls`. */
export function count(amount: number, noun: string): string {
  return `${amount.toLocaleString("en-US")} ${noun}${amount === 1 ? "" : "s"}`;
}
