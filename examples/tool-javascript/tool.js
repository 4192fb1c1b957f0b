// Counts the words of a text. See docs/javascript-tools.md for what a tool can use.

/**
 * @param {{ text: string, top?: number }} input
 * @param {{ log: (...items: unknown[]) => void }} context
 */
export default ({ text, top = 3 }, { log }) => {
  const counts = new Map();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  log(`${counts.size} different words`);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return sorted.slice(0, top).map(([word, count]) => ({ word, count }));
};
