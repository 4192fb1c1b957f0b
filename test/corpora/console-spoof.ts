import { readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { HAS_NO_BROWSER, useBrowser } from "../console/browser.ts";
import { expectShownWithoutEffect } from "../console/show-spoofs.ts";

const texts = readFileSync(`${process.env["SANDGATE_CORPORA"]}/spoof/spoof.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): string => (JSON.parse(line) as { readonly text: string }).text);

describe.skipIf(HAS_NO_BROWSER)("The spoofs of the corpus", () => {
  useBrowser();

  test("have no effect in any view of the console", async () => {
    await expectShownWithoutEffect(texts);
  }, 120_000);
});
