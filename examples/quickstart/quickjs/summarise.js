/** Counts rows and sums a column of them, group by group. Untrusted code: it has the language, and no more. */
export default function summarise({ rows, by, sum }) {
  const groups = new Map();
  for (const row of rows) {
    const key = String(row[by]);
    const group = groups.get(key) ?? { count: 0, total: 0 };
    groups.set(key, { count: group.count + 1, total: group.total + Number(row[sum] ?? 0) });
  }
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What a hostile author may ship. */
export function loop() {
  for (;;);
}

export function bomb() {
  const hoard = [];
  for (;;) hoard.push(new Uint8Array(1_000_000).fill(1));
}
