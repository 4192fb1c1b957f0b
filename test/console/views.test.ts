import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import { LockPins, registeredDefinitions } from "../../src/pins/lock-file.ts";
import { wasiComponent } from "../fixtures/wasm/wasi-component.ts";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { openScene, type Scene } from "./server/scene.ts";

/** A server on which something of everything has happened. */
async function busyScene(): Promise<Scene> {
  const scene = await openScene();
  await scene.call("outer_tool", { text: "hello" });
  await scene.call("send_mail", { to: "ann@example.com" });
  await scene.ask("write_note", { text: "remember" });
  await scene.ask("rename", { text: "two" });
  await scene.ask("asks", { question: "Which one?", choices: ["a", "b"] });
  await scene.ask("submit_plan", { plan: "1. Read. 2. Write." });
  const session = await scene.holdChange("one.txt", "1\n");
  await scene.holdChange("two.txt", "2\n", session);
  return scene;
}

function mail(description: string): Tool {
  return defineTool({
    name: "send_mail",
    description,
    sideEffects: "network",
    inputSchema: { type: "object" },
    host: () => null,
  });
}

describe.skipIf(HAS_NO_BROWSER)("The views of the console", () => {
  useBrowser();

  test.each([
    "light",
    "dark",
  ] as const)("are accessible, as far as axe finds, in the %s scheme", async (colorScheme) => {
    const scene = await busyScene();
    const { page, errors, origins } = await scene.open("dave", { colorScheme });
    const violations: Record<string, unknown> = {};
    const check = async (where: string): Promise<void> => {
      const axe = new AxeBuilder({ page });
      // The schemes differ only in their colours.
      if (colorScheme === "dark") axe.withRules(["color-contrast"]);
      const { violations: found } = await axe.analyze();
      for (const { id, nodes } of found) violations[`${where} ${id}`] = nodes.map(({ html }) => html);
    };
    const panel = page.getByRole("complementary");
    const row = page.locator(".rows > .row, .card:is(a), .card > span > a, tbody a").first();
    for (const view of ["Live", "Waiting for me", "History", "Tools", "Changes", "Sessions"]) {
      await page.getByRole("navigation").getByRole("link", { name: view }).click();
      await page.getByRole("heading", { level: 1, name: view }).waitFor();
      await row.waitFor();
      if (view === "Live") await page.getByRole("row").getByText("send_mail").click();
      else await row.click();
      await panel.locator("pre:visible, .empty, .value").first().waitFor();
      await check(view);
      if (view !== "Waiting for me") continue;
      for (const confirmation of await page
        .getByRole("list", { name: "Confirmations" })
        .getByRole("link")
        .all()) {
        await confirmation.click();
        await panel.getByRole("button", { name: /Deny…|Decline…/ }).waitFor();
        await check(await confirmation.innerText());
      }
      await page.keyboard.press("d");
      await page.getByRole("form", { name: "Confirm to deny" }).waitFor();
      await check("Confirm");
      await page.keyboard.press("Escape");
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await check("Help");
    expect(violations).toEqual({});
    expect(errors).toEqual([]);
    expect([...origins]).toEqual([scene.origin]);
    // axe looks at each of thirteen pages for seconds if the machine is busy.
  }, 300_000);

  test("History: lists, filters, shows and verifies what the journal recorded", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "hello" });
    await scene.call("send_mail", { to: "ann@example.com" });
    const { page } = await scene.open("dave", { view: 3 });
    await page.getByRole("link", { name: "send_mail" }).waitFor();
    await page.getByLabel("tool").fill("echo");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(1);
    await page.locator("main").press("j");
    await page.getByRole("region", { name: "Beginning" }).getByText("tool.call.dispatched").waitFor();
    await page.getByRole("region", { name: "End" }).getByText("tool.call.ended").waitFor();
    const given = await page.getByRole("region", { name: "Arguments" }).textContent();
    expect(JSON.parse(given ?? "")).toEqual({ text: "hello" });
    await page.getByRole("button", { name: "Verify the journal" }).click();
    const report = page.getByRole("region", { name: "Report of the verification" });
    await report.getByText('"isIntact": true').waitFor();
  });

  test("History: an admin decides on a call again, runs it again, and tries a policy on recorded calls", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "hello" });
    const { page, errors } = await scene.open("dave", { view: 3 });
    await page.getByRole("link", { name: "echo" }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("button", { name: "Decide again (dry run)" }).click();
    const result = page.getByRole("region", { name: "Result of the repetition" });
    await result.getByText('"decision": "allow"').waitFor();
    await page.getByRole("button", { name: "Run again" }).click();
    await result.getByText('"success": true').waitFor();
    await page.getByText("Try a policy on recorded calls").click();
    await page.getByLabel("Policy, as YAML").fill("rules: {}");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByText(/line 1: .*must be/).waitFor();
    await page.getByLabel("Policy, as YAML").fill("rules: []");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByText("cannot be decided again").waitFor();
    expect(errors.filter((error) => !error.includes("422"))).toEqual([]);
  });

  test("History: a reader verifies, and repeats nothing", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "hello" });
    const { page } = await scene.open("erin", { view: 3 });
    await page.getByRole("button", { name: "Verify the journal" }).waitFor();
    await page.getByRole("link", { name: "echo" }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "Beginning" }).waitFor();
    expect(await page.getByRole("button", { name: /again/ }).count()).toBe(0);
    expect(await page.getByText("Try a policy").count()).toBe(0);
  });

  test("Tools: shows what changed since a person approved a tool, and what a component imports", async () => {
    const approved = new ToolRegistry().register(mail("Sends mail."));
    const registry = new ToolRegistry({ pins: new LockPins(registeredDefinitions(approved)) });
    registry.register(mail("Sends mail to anyone."));
    registry.register({
      name: "files",
      description: "",
      inputSchema: { type: "object" },
      sideEffects: "read",
      wasm: { component: await wasiComponent(), export: "run" },
    } as unknown as Tool);
    const scene = await openScene({ registry });
    const { page } = await scene.open("erin", { view: 4 });
    await page.getByRole("link", { name: "send_mail" }).click();
    await page.locator(".diff").getByText('- | "Sends mail."').waitFor();
    await page.locator(".diff").getByText('+ | "Sends mail to anyone."').waitFor();
    const schema = await page.getByRole("region", { name: "Input schema" }).textContent();
    expect(JSON.parse(schema ?? "")).toEqual({ type: "object" });
    await page.getByRole("link", { name: "files" }).click();
    await page.getByRole("list", { name: "Imports" }).getByText("wasi:").first().waitFor();
  });

  test("Tools: reads more of them than a page has", async () => {
    const registry = new ToolRegistry();
    for (let at = 0; at < 620; at++) registry.register({ ...mail(""), name: `tool_${at}` });
    const scene = await openScene({ registry });
    const { page } = await scene.open("erin", { view: 4 });
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(620);
    await page.getByLabel("Name").fill("tool_619");
    await expect.poll(() => page.locator("tbody tr").count(), PATIENT).toBe(1);
  });

  test("Changes: accepts one in two steps, rejects another, and says what is on the disk instead", async () => {
    const scene = await openScene();
    const session = await scene.holdChange("one.txt", "1\n");
    for (const name of ["two.txt", "three.txt"]) await scene.holdChange(name, "new\n", session);
    const { page } = await scene.open("dave", { view: 5 });
    await page.getByRole("link", { name: session }).click();
    const article = (name: string) => page.getByRole("article").filter({ hasText: name });
    await article("one.txt").getByRole("button", { name: "Accept this change…" }).click();
    await page.getByRole("form", { name: "Confirm to accept" }).waitFor();
    expect(globSync("*", { cwd: scene.workspace })).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByText("Accepted.", { exact: true }).waitFor();
    expect(globSync("*", { cwd: scene.workspace })).toEqual(["one.txt"]);
    // The page has read the changes again: it does not offer to accept one that it knows to conflict.
    await article("one.txt").waitFor({ state: "detached" });
    writeFileSync(join(scene.workspace, "two.txt"), "of somebody else");
    await article("two.txt").getByRole("button", { name: "Accept this change…" }).click();
    await page.getByRole("form", { name: "Confirm to accept" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText(/Nothing was accepted: .* two\.txt/).waitFor();
    await article("three.txt").getByRole("button", { name: "Reject this change…" }).click();
    await page.getByRole("form", { name: "Confirm to reject" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("Rejected.", { exact: true }).waitFor();
    await article("three.txt").waitFor({ state: "detached" });
    expect(globSync("*", { cwd: scene.workspace }).toSorted()).toEqual(["one.txt", "two.txt"]);
  });

  test("Sessions: leads to the calls of a session, and lists and revokes its approvals", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "elsewhere" });
    const begun = await scene.ask("write_note", { text: "one" });
    const carol = scene.client("carol");
    const [confirmation] = await carol.confirmations();
    if (confirmation === undefined) throw new Error("no confirmation");
    const approval = { tools: ["write_*"], for: "session", when: { "/text": { equals: "on\u0435" } } };
    await carol.answer(confirmation, { decision: "always", approval });
    await scene.ended(begun);
    const { page } = await scene.open("dave", { view: 6 });
    await page.getByRole("link", { name: begun.session }).click();
    const panel = page.getByRole("complementary", { name: "Session" });
    await panel.getByRole("list", { name: "Approvals" }).getByText("write_*").waitFor();
    await panel.getByText('{"/text":{"equals":"on\\u0435"}}').waitFor();
    await panel.getByRole("button", { name: "Revoke" }).click();
    await panel.getByText("No answer is remembered.").waitFor();
    expect(await carol.json("GET", `/v1/sessions/${begun.session}/approvals`)).toEqual({ approvals: [] });
    await panel.getByRole("button", { name: "Show its calls" }).click();
    await page.getByText("1 call", { exact: true }).waitFor();
    expect(await page.getByLabel("Session").inputValue()).toBe(begun.session);
  });
});

describe("The source of the page", () => {
  const folder = join(import.meta.dirname, "../../src/console");

  test("never writes HTML, and makes no address of foreign text", () => {
    const wrong = globSync("**/*.{ts,tsx}", { cwd: folder }).filter((file) =>
      /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|srcdoc|\beval\b|new Function|\bsrc=|href=\{(?!hashOf\()/.test(
        readFileSync(join(folder, file), "utf8"),
      ),
    );
    expect(wrong).toEqual([]);
  });
});
