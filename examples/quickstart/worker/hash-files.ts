import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Returns the SHA-256 of each file, in hex. It is CPU-bound, so it runs in a thread that a deadline can terminate. */
export function hashFiles({ paths }: { paths: readonly string[] }): Record<string, string> {
  return Object.fromEntries(
    paths.map((path) => [path, createHash("sha256").update(readFileSync(path)).digest("hex")]),
  );
}
