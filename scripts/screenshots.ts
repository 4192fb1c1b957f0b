/**
 * Takes the screenshots of docs/console.md: `node scripts/screenshots.ts`, after `npm run build`. They show the quickstart and
 * the example of `sandgate console`. It needs Chromium.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";

const ROOT = join(import.meta.dirname, "..");
const FOLDER = join(ROOT, "docs/console");

/** A screenshot, and how to get to what it shows. */
export interface Screenshot {
  readonly file: string;
  readonly of: "quickstart" | "example";
  /** In CSS pixels. Default: that of a small window. */
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly show: (page: Page) => Promise<unknown>;
}

const VIEWPORT = { width: 1_050, height: 540 };

/** Every screenshot of docs/console.md. */
export const SCREENSHOTS: readonly Screenshot[] = [
  {
    file: "live.webp",
    of: "quickstart",
    show: (page) => page.getByText("16 calls").waitFor(),
  },
  {
    file: "overview.webp",
    of: "quickstart",
    viewport: { width: 1_050, height: 700 },
    show: async (page) => {
      await page.keyboard.press("0");
      await page.getByRole("link", { name: "Last hour" }).click();
      await page.getByRole("region", { name: "Top tools" }).waitFor();
    },
  },
  {
    file: "why.webp",
    of: "example",
    show: async (page) => {
      await page.getByRole("row").getByText("permission_denied").click();
      await page.getByRole("heading", { name: "Receipt" }).waitFor();
    },
  },
  {
    file: "waiting.webp",
    of: "example",
    show: async (page) => {
      await page.keyboard.press("2");
      await page.getByRole("link", { name: /save_note/ }).click();
      await page.getByRole("button", { name: "Allow…" }).click();
      await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    },
  },
  {
    file: "phone.webp",
    of: "example",
    viewport: { width: 390, height: 844 },
    show: async (page) => {
      await page.keyboard.press("2");
      await page.getByRole("link", { name: /save_note/ }).click();
      await page.getByRole("button", { name: "Allow…" }).waitFor();
    },
  },
  {
    file: "history.webp",
    of: "quickstart",
    show: async (page) => {
      await page.keyboard.press("3");
      await page.getByRole("link", { name: "similar_names" }).click();
      await page.getByRole("button", { name: "Verify the journal" }).click();
      await page.getByRole("region", { name: "Report of the verification" }).waitFor();
      await page.getByRole("region", { name: "Beginning" }).waitFor();
    },
  },
];

const COMMANDS: Readonly<Record<Screenshot["of"], readonly string[]>> = {
  quickstart: ["examples/quickstart/main.ts", "--console"],
  example: ["dist/cli/main.js", "console", "--example"],
};

/** Starts a program that prints the link of a console, and returns both. */
async function start(of: Screenshot["of"]): Promise<{ readonly child: ChildProcess; readonly link: string }> {
  const child = spawn(process.execPath, COMMANDS[of], { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    text += chunk;
    const [link] = /http:\S+#token=[\w-]{43}/.exec(text) ?? [];
    if (link !== undefined) return { child, link };
  }
  throw new Error(`${of} printed no link: ${text}`);
}

async function take(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    // Chromium does not start its sandbox as root.
    args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), "--disable-lcd-text"],
  });
  for (const shown of ["quickstart", "example"] as const) {
    const { child, link } = await start(shown);
    const context = await browser.newContext({
      viewport: VIEWPORT,
      colorScheme: "light",
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    await page.goto(link);
    await page.getByText("connected", { exact: true }).waitFor();
    for (const { file, show, viewport = VIEWPORT } of SCREENSHOTS.filter((shot) => shot.of === shown)) {
      await page.setViewportSize(viewport);
      await page.keyboard.press("1");
      await show(page);
      // A third of the bytes of a PNG: the pictures are in the package.
      const cdp = await context.newCDPSession(page);
      const { data } = await cdp.send("Page.captureScreenshot", { format: "webp", quality: 90 });
      const bytes = Buffer.from(data, "base64");
      writeFileSync(join(FOLDER, file), bytes);
      console.log(`${file}: ${Math.ceil(bytes.length / 1_000)} KB`);
    }
    await context.close();
    child.kill("SIGINT");
    await once(child, "exit");
  }
  await browser.close();
}

if (import.meta.main) await take();
