import { createHash } from "node:crypto";

/** Identifies several changes together, by their digests: what accepting all of them takes as the digest of what was shown. */
export function digestOfAll(changes: readonly { readonly digest: string }[]): string {
  const digests = changes.map(({ digest }) => digest).sort();
  return createHash("sha256").update(digests.join("\n")).digest("hex");
}
