import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("sandgate/piscina uses the embedder's pool, and never loads one of its own", () => {
  const source = readFileSync("src/sandboxes/threads/piscina/piscina-pool.ts", "utf8");
  expect(source).toContain('import type { Piscina } from "piscina";');
  expect(source).not.toMatch(/^import \{[^}]*\} from "piscina"/m);
});
