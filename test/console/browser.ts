import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { buildConsole } from "../../scripts/console.ts";
import { CHROMIUM } from "../rendering/page.ts";

if (CHROMIUM === undefined) console.log("skipped: the tests of the console's page need chromium in PATH");

/** Whether the tests of this file are skipped. */
export const HAS_NO_BROWSER: boolean = CHROMIUM === undefined;

/** Where the page is built for the tests of a file. */
export const PAGE_FOLDER: string = mkdtempSync(join(tmpdir(), "console-page-"));

/** The options of `expect.poll`: as long as a page has, since the machine may be busy. */
export const PATIENT = { timeout: 30_000 } as const;

let browser: Browser | undefined;

/** Builds the page and starts a browser, once for all tests of a file. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (CHROMIUM === undefined) return;
    await buildConsole(PAGE_FOLDER);
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      // Chromium does not start its sandbox as root.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    });
  });
  afterAll(async () => {
    await browser?.close();
  });
}

/** A page, and what it must not do. */
export interface OpenPage {
  readonly page: Page;
  /** Errors of scripts and of the console, violations of the content security policy included. */
  readonly errors: readonly string[];
  /** The origins of all requests. */
  readonly origins: ReadonlySet<string>;
}

/** Opens an address in a browser profile of its own. The page is closed when the test finishes. */
export async function openPage(
  url: string,
  options: { readonly colorScheme?: "light" | "dark" } = {},
): Promise<OpenPage> {
  if (browser === undefined) throw new Error("call useBrowser first");
  const context = await browser.newContext({ ...options, viewport: { width: 1_400, height: 900 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  const origins = new Set<string>();
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (
      message.type() === "error" &&
      !/status of 4\d\d|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/.test(
        message.text(),
      )
    )
      errors.push(message.text());
  });
  // Chromium reports these on the console, too; an event cannot be missed by a change of that text.
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      console.error(`violates ${violatedDirective}: ${blockedURI}`);
    });
  });
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  await page.goto(url);
  return { page, errors, origins };
}
