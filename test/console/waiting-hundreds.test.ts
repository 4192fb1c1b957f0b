import { describe, expect, test } from "vitest";
import type { Credential } from "../../src/http/clients.ts";
import { TestClient } from "../server/harness.ts";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

/** Of a principal, 32 confirmations can be open. */
const AGENTS = Array.from({ length: 10 }, (_, at): Credential & { readonly token: string } => ({
  id: `agent-${at}`,
  token: `token-of-the-agent-number-${at}`,
  roles: ["caller"],
}));

const LONG = "some words of a line\n".repeat(5_000);

describe.skipIf(HAS_NO_BROWSER)("300 confirmations", () => {
  useBrowser();

  test("are filtered, selected and answered in groups by keyboard, also with 100 KB of arguments", async () => {
    const scene = await openScene({ clients: AGENTS });
    const agents = AGENTS.map((agent) => new TestClient(scene.server, agent));
    for (let at = 0; at < 300; at++) {
      const agent = agents[at % agents.length] as TestClient;
      const text = at % 10 === 0 ? `report ${at}\n${LONG}` : `memo ${at}`;
      await agent.dispatch(await agent.open(), [
        { id: `call_${at}`, name: "write_note", arguments: { text } },
      ]);
    }
    await scene.client("dave").confirmations(300);
    const { page, errors } = await scene.open("dave", { view: 2 });
    await page.locator("p", { hasText: /^300 open$/ }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("report");
    await expect.poll(() => page.locator("li.card").count(), PATIENT).toBe(30);
    await page.keyboard.press("Escape");
    await page.keyboard.press("S");
    await page.keyboard.press("t");
    const allow = page.locator(".actions button", { hasText: /^Allow 30…/ });
    await allow.waitFor();
    await expect
      .poll(async () => {
        await page.keyboard.press("n");
        return allow.isEnabled();
      }, PATIENT)
      .toBe(true);
    await page.keyboard.press("a");
    await page.locator("form.confirm", { hasText: "characters of the arguments are folded" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".reading", { hasText: "30 calls allowed." }).waitFor();
    await expect.poll(() => scene.notes.inputs.length, PATIENT).toBe(30);
    // What is denied need not be read first.
    await page.locator("input[type=search]").fill("memo");
    await expect.poll(() => page.locator("li.card").count(), PATIENT).toBe(270);
    await page.keyboard.press("Escape");
    await page.keyboard.press("S");
    await page.keyboard.press("t");
    await page.locator(".actions button", { hasText: /^Deny 270…/ }).waitFor();
    await page.keyboard.press("d");
    await page.locator("form.confirm.deny").waitFor();
    await page.keyboard.type("Too many at once");
    await page.keyboard.press("Enter");
    await page.locator(".reading", { hasText: "270 calls denied." }).waitFor({ timeout: 120_000 });
    await expect.poll(() => page.title(), PATIENT).toBe("Sandgate console");
    expect(scene.notes.inputs).toHaveLength(30);
    expect(errors).toEqual([]);
  }, 300_000);
});
