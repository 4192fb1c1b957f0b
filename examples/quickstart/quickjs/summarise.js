/** Counts rows and sums one column, for each group. Runs as untrusted code, with no capabilities. */
export default function summarise({ rows, by, sum }) {
  const groups = new Map();
  for (const row of rows) {
    const key = String(row[by]);
    const group = groups.get(key) ?? { count: 0, total: 0 };
    groups.set(key, { count: group.count + 1, total: group.total + Number(row[sum] ?? 0) });
  }
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

// Two hostile tools.
export function loop() {
  for (;;);
}

export function bomb() {
  const hoard = [];
  for (;;) hoard.push(new Uint8Array(1_000_000).fill(1));
}
