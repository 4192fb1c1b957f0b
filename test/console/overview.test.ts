import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Journal } from "../../src/journal/journal.ts";
import { allow } from "../../src/policy/policy.ts";
import { denied, dispatched, ended } from "../journal/records.ts";
import { TOKENS } from "../server/harness.ts";
import { HAS_NO_BROWSER, openPage, PATIENT, useBrowser } from "./browser.ts";
import { overflow } from "./overflow.ts";
import { openScene, type Scene } from "./server/scene.ts";

const SIZES = [
  { width: 390, height: 844 },
  { width: 768, height: 1_024 },
  { width: 1_280, height: 800 },
] as const;

const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "\u202egpj.exe",
  "a\u0000b\u001b[31m",
  "\u{1f468}\u200d\u{1f469}",
  "n".repeat(900),
  "p\u0430ypal",
  "__proto__",
  "",
  " ",
  "z\u0300\u0301\u0302\u0303",
] as const;

/** Records five thousand calls, with hostile names of tools, rules, people and sessions. */
async function recordMany(journal: Journal): Promise<void> {
  const { grant } = allow({ sandbox: "quickjs" });
  const answers = ["allow", "deny"] as const;
  for (let at = 0; at < 5_000; at++) {
    const name = HOSTILE[at % HOSTILE.length] ?? "";
    const names = { toolName: name, sessionId: `s${at % 300}${name}` };
    const id = `call-${at}${name}`;
    if (at % 7 === 0) journal.deny(denied(id, { ...names, rules: [name] }));
    else {
      const answer = { by: name, decision: answers[at % 2] ?? "deny", afterMs: at } as const;
      const written = journal.begin(dispatched(id, {}, { ...names, grant, ...(at % 5 === 0 && { answer }) }));
      if (at % 500 === 1) await written;
      const failed = {
        success: false,
        code: "limit_exceeded",
        effect: "none",
        limit: "outputBytes",
      } as const;
      journal.end(ended(id, { ...names, ...(at % 11 === 0 && failed) }));
    }
  }
}

/** Logs in as a reader, who begins with the overview. */
async function openOverview(
  scene: Scene,
  options: { readonly colorScheme?: "light" | "dark" } = {},
): Promise<{ page: Page; errors: readonly string[] }> {
  const { page, errors } = await openPage(`${scene.origin}/console/#token=${TOKENS.erin}`, options);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return { page, errors };
}

/** Expects that the page fits at every width, and that axe finds nothing. */
async function checkWidths(page: Page): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    expect(await overflow(page)).toEqual([]);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => `${id} ${nodes[0]?.html}`)).toEqual([]);
  }
}

const amount = (page: Page, title: string): Promise<string | null> =>
  page.locator(".amounts div", { hasText: title }).locator("dd").textContent();

describe.skipIf(HAS_NO_BROWSER)("The overview", () => {
  useBrowser();

  test("counts calls, each number leads to them, and the keyboard is enough", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "a" });
    await scene.call("unknown_tool");
    await scene.ask("write_note", { text: "a" });
    const { page, errors } = await openOverview(scene);
    await expect.poll(() => amount(page, "Waiting now"), PATIENT).toBe("1");
    expect(await amount(page, "Open sessions")).toBe("3");
    expect(await amount(page, "Calls")).toBe("2");
    expect(await amount(page, "Failed")).toBe("1");
    await page.getByRole("link", { name: "30 days" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("[aria-current=true]", { hasText: "30 days" }).waitFor();
    await page.locator(".amounts div", { hasText: "Failed" }).getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.getByRole("link", { name: "unknown_tool" }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    await page.getByRole("button", { name: /Remove the filter: from/ }).press("Enter");
    await page.getByRole("combobox", { name: "outcome" }).selectOption("any");
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(2);
    await page.locator("#main").focus();
    await page.keyboard.press("0");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(errors).toEqual([]);
  });

  test("a filter stays while a record is open, and while the page is loaded again", async () => {
    const scene = await openScene();
    await scene.call("unknown_tool");
    await scene.call("other_tool");
    const { page } = await openOverview(scene);
    const tools = page.getByRole("region", { name: "Top tools" });
    await tools
      .getByRole("row", { name: /other_tool/ })
      .getByRole("link")
      .first()
      .click();
    await page.getByRole("link", { name: "other_tool" }).click();
    await page.getByRole("heading", { name: "Beginning" }).waitFor();
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(1);
    await page.reload();
    await page.getByRole("heading", { name: "Beginning" }).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(1);
    expect(await page.getByRole("searchbox", { name: "tool" }).inputValue()).toBe("other_tool");
  });

  test.each([
    "light",
    "dark",
  ] as const)("shows 5,000 calls with hostile names, accessibly and at every width, in the %s scheme", async (colorScheme) => {
    const scene = await openScene({ record: recordMany });
    const { page, errors } = await openOverview(scene, { colorScheme });
    await expect.poll(() => amount(page, "Calls"), PATIENT).toBe("5,000");
    await page.getByText("Calls over time as a table").click();
    await checkWidths(page);
    const text = (await page.locator("main").textContent()) ?? "";
    for (const hidden of ["\u202e", "\u0000", "\u001b"]) expect(text).not.toContain(hidden);
    // A name leads to its calls as it is shown.
    const rules = page.getByRole("region", { name: "Denials by rule" });
    const row = rules.getByRole("row", { name: /gpj/ });
    const shown = await row.getByRole("link").textContent();
    await row.getByRole("link").click();
    await page.getByRole("button", { name: /Remove the filter: rule .*gpj/ }).waitFor();
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(Number(shown));
    await checkWidths(page);
    expect(errors).toEqual([]);
  });
});
