import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** SHA-256 of each file, in hex: work for a CPU, so it runs in a thread that a deadline can end. */
export function hashFiles({ paths }: { paths: readonly string[] }): Record<string, string> {
  return Object.fromEntries(
    paths.map((path) => [path, createHash("sha256").update(readFileSync(path)).digest("hex")]),
  );
}
