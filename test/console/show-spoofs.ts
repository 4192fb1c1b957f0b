import { expect } from "vitest";
import { defineTool } from "../../src/engine/tool.ts";
import { render, textOf } from "../../src/rendering/render.ts";
import { dispatch, dispatchBody } from "../executor/harness.ts";
import { TOKENS } from "../server/harness.ts";
import type { OpenPage } from "./browser.ts";
import { openScene, type Scene } from "./server/scene.ts";

/** What a person cannot see, apart from line feeds and spaces. */
const HIDDEN = "(?!\\n)[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]";

/** Names that a file can have. */
const isFileName = (text: string): boolean => !/[/\\\0]/.test(text) && Buffer.byteLength(text) < 200;

/** Puts texts wherever a model, a tool or a client can put one. */
async function spread(texts: readonly string[]): Promise<Scene> {
  const all = texts.join("\n");
  const scene = await openScene({
    tools: [
      defineTool({
        name: "described",
        description: all.slice(0, 8_000),
        inputSchema: { type: "object", description: all },
        sideEffects: "read",
        host: () => {
          throw new Error(all);
        },
      }),
    ],
  });
  const headers = { authorization: `Bearer ${TOKENS.bob}` };
  for (const text of texts) {
    await scene.call("echo", { text, [text]: text });
    await dispatch(scene.server, dispatchBody({ name: text, id: text }, { session: text }), { headers });
  }
  await scene.call("described");
  await scene.call("echo", { text: all });
  const files = [...new Set(texts.filter(isFileName))];
  let session: string | undefined;
  for (const [at, name] of [...files, "all.txt"].entries()) {
    session = await scene.holdChange(`${at} ${name}`, all, session);
  }
  await scene.ask("write_note", { text: all });
  await scene.ask("rename", { text: all.replaceAll("\n", " ") });
  await scene.ask("asks", {
    question: all.slice(0, 4_000),
    choices: texts.map((text) => text.slice(0, 500)),
  });
  await scene.ask("submit_plan", { plan: all.slice(0, 20_000) });
  return scene;
}

/** Expects that nothing on the page is, or looks like, anything but a text. */
async function expectTexts({ page }: OpenPage, where: string, raw: readonly string[]): Promise<void> {
  const found = await page.evaluate(
    ({ hidden, texts }) => {
      const root = document.body;
      const elements = [...root.querySelectorAll("*")];
      const shown = [
        root.textContent ?? "",
        ...elements.flatMap((element) => [...element.attributes].map(({ value }) => value)),
        ...[...root.querySelectorAll<HTMLInputElement>("input, textarea")].map(({ value }) => value),
      ].join("\n");
      return {
        hidden: new RegExp(hidden, "u").exec(shown)?.[0].codePointAt(0)?.toString(16),
        raw: texts.filter((text) => shown.includes(text)),
        elements: root.querySelectorAll(":is(img, iframe, object, embed, style, b, i, svg), #console script")
          .length,
        forms: [...document.forms].filter((form) => form.hasAttribute("action")).length,
        links: [...document.querySelectorAll("a")].filter(
          ({ href }) => new URL(href).origin !== location.origin,
        ).length,
        isSpoofed: "spoofed" in globalThis,
      };
    },
    { hidden: HIDDEN, texts: raw },
  );
  expect({ where, ...found }).toEqual({
    where,
    hidden: undefined,
    raw: [],
    elements: 0,
    forms: 0,
    links: 0,
    isSpoofed: false,
  });
}

/** Shows texts in every view and in its panels, and expects that none of them has an effect. */
export async function expectShownWithoutEffect(texts: readonly string[]): Promise<void> {
  const scene = await spread(texts);
  const opened = await scene.open("dave");
  const { page, errors, origins } = opened;
  // A text that is shown otherwise than it is must be nowhere as it is.
  const raw = texts.filter(
    (text) => textOf(render(text, { keepsLines: true })) !== text && !/^ +\S/.test(text),
  );
  const panel = page.getByRole("complementary");
  const see = async (where: string, row: string, count: number): Promise<void> => {
    await page.locator(row).first().waitFor();
    await expectTexts(opened, where, raw);
    for (let at = 0; at < count; at++) {
      await page.keyboard.press("j");
      if (where === "live" && at === 0) await page.keyboard.press("Enter");
      await panel.locator("pre:visible, fieldset").first().waitFor();
      await expectTexts(opened, `${where} ${at}`, raw);
    }
    await page.keyboard.press("Escape");
  };
  await page.keyboard.press("1");
  await see("live", ".rows > .row", 12);
  await page.keyboard.press("2");
  await see("waiting", "li.card a", 4);
  await page.getByRole("link", { name: /^write_note/ }).click();
  await page.getByRole("button", { name: "Edit…" }).waitFor();
  await page.keyboard.press("e");
  await page.getByLabel("Arguments, as JSON").waitFor();
  await expectTexts(opened, "edit", raw);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("region", { name: "Edited arguments" }).waitFor();
  await expectTexts(opened, "edited", raw);
  await page.keyboard.press("Escape");
  await page.keyboard.press("3");
  await see("history", "tbody a", 12);
  await page.keyboard.press("4");
  await see("tools", "tbody a", 4);
  await page.keyboard.press("5");
  await page.locator("a.card").first().click();
  await panel.locator("pre:visible").first().waitFor();
  await expectTexts(opened, "changes", raw);
  await page.keyboard.press("6");
  await page.locator("tbody a").first().waitFor();
  await page.keyboard.press("j");
  await panel.getByRole("heading", { name: "Approvals" }).waitFor();
  await expectTexts(opened, "sessions", raw);
  expect(errors).toEqual([]);
  expect([...origins]).toEqual([scene.origin]);
}
