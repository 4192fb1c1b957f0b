import { describe, test } from "vitest";
import { HAS_NO_BROWSER, useBrowser } from "./browser.ts";
import { expectShownWithoutEffect } from "./show-spoofs.ts";
import { SPOOFS } from "./spoofs.ts";

describe.skipIf(HAS_NO_BROWSER)("Texts of tools, models and clients", () => {
  useBrowser();

  test("have no effect in any view: nothing of them is an element, a link or a script, and nothing is hidden", async () => {
    await expectShownWithoutEffect(SPOOFS);
  });
});
