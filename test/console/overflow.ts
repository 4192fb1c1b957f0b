import type { Page } from "playwright-core";

/** What is wider than the page. */
export function overflow(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("main *")]
      .filter((element) => {
        const { left, right, width } = element.getBoundingClientRect();
        return width > 0 && (right > innerWidth + 1 || left < -1) && element.closest("table, .rows") === null;
      })
      .map((element) => `${element.tagName}.${element.className}`),
  );
}
