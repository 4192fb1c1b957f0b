import type { Marks } from "./marks.ts";

/** A character with its combining marks, or Korean letters that form syllables. */
const CLUSTER = /[\u1100-\u11ff]+|\P{M}\p{M}*/gu;

/**
 * Marks what looks the same as other characters by definition of Unicode: `e` with a combining accent, which looks like
 * `é`. Texts are usually composed (in the form NFC), so only the others are marked.
 */
export function markDecomposed(text: string, marks: Marks): void {
  if (text.normalize("NFC") === text) return;
  for (const { index, 0: cluster } of text.matchAll(CLUSTER)) {
    if (cluster.normalize("NFC") === cluster) continue;
    const [base = ""] = cluster;
    const isBaseShown = base.normalize("NFC") === base && cluster.length > base.length;
    marks.add(index + (isBaseShown ? base.length : 0), index + cluster.length);
  }
}
