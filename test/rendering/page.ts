import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PageSegment } from "../../src/rendering/lines.ts";

/** A node of the tree of parse5, which the checks of this package's types bring along. */
interface PageNode {
  readonly nodeName: string;
  readonly value?: string;
  readonly attrs?: readonly { readonly name: string; readonly value: string }[];
  childNodes?: PageNode[];
}

interface HtmlParser {
  parse(
    html: string,
    options?: { readonly onParseError: (error: { readonly code: string }) => void },
  ): PageNode;
  serialize(node: PageNode): string;
}

const { parse, serialize } = createRequire(import.meta.url)("parse5") as HtmlParser;

type Lines = readonly (readonly PageSegment[])[];

const SHELL =
  '<!doctype html><html><head><meta charset="utf-8"><title>Page</title></head><body></body></html>';

/** The path of Chromium, if it is installed. */
export const CHROMIUM: string | undefined = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "chromium-browser"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

/**
 * Shows lines on a page, as `textContent` of elements, and reads them back out of the HTML of the page. The page is one
 * in Chromium if that is installed, and otherwise a tree in which a text node stands for each `textContent`.
 *
 * @throws {Error} if the HTML has a parse error, or anything but the elements and their texts.
 */
export function showOnPage(lines: Lines): Lines {
  const html = CHROMIUM === undefined ? treeOf(lines) : pageInChromium(lines, CHROMIUM);
  const document = parse(html, {
    onParseError: ({ code }) => {
      throw new Error(`the HTML has the error ${code}`);
    },
  });
  return childrenOf(bodyOf(document), "p").map((line) =>
    childrenOf(line, "span").map((span): PageSegment => {
      const text = (span.childNodes ?? []).map((node) => {
        if (node.nodeName === "#text") return node.value ?? "";
        throw new Error(`a text became the element ${node.nodeName}`);
      });
      return { kind: span.attrs?.[0]?.value as PageSegment["kind"], text: text.join("") };
    }),
  );
}

/** Shows several texts on one page, one after another, since a browser takes a second to start. Returns the lines of each. */
export function showAllOnPage(texts: readonly Lines[]): readonly Lines[] {
  const shown = showOnPage(texts.flat());
  let end = 0;
  return texts.map(({ length }) => {
    end += length;
    return shown.slice(end - length, end);
  });
}

function treeOf(lines: Lines): string {
  const document = parse(SHELL);
  bodyOf(document).childNodes = lines.map((line) =>
    element(
      "p",
      [],
      line.map(({ kind, text }) => element("span", [{ name: "class", value: kind }], [textNode(text)])),
    ),
  );
  return serialize(document);
}

function element(name: string, attrs: PageNode["attrs"] & object, childNodes: PageNode[]): PageNode {
  return Object.assign(
    { nodeName: name, tagName: name, namespaceURI: "http://www.w3.org/1999/xhtml" },
    { attrs, childNodes },
  );
}

function textNode(value: string): PageNode {
  return { nodeName: "#text", value };
}

function pageInChromium(lines: Lines, chromium: string): string {
  const data = JSON.stringify(lines).replaceAll("<", "\\u003c");
  const script = `for (const line of ${data}) {
    const p = document.body.appendChild(document.createElement("p"));
    for (const { kind, text } of line) {
      const span = p.appendChild(document.createElement("span"));
      span.className = kind;
      span.textContent = text;
    }
  }
  document.querySelector("script").remove();`;
  const page = SHELL.replace("</body>", () => `<script>${script}</script></body>`);
  // A file, not a data: URL: Linux limits one argument of a program to 128 KiB.
  const folder = mkdtempSync(join(tmpdir(), "sandgate-page-"));
  try {
    const file = join(folder, "page.html");
    writeFileSync(file, page);
    const options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", pathToFileURL(file).href];
    const { status, stdout, stderr, error } = spawnSync(chromium, options, {
      encoding: "utf8",
      timeout: 60_000,
    });
    if (status !== 0) throw new Error(`Chromium failed: ${error?.message ?? stderr}`);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function bodyOf(document: PageNode): PageNode {
  const [html] = childrenOf(document, "html", ["#documentType"]);
  const [body] = html === undefined ? [] : childrenOf(html, "body", ["head"]);
  if (body === undefined) throw new Error("the page has no body");
  return body;
}

/** Returns the children, which must all be of one kind, apart from white space between them. */
function childrenOf(
  { childNodes = [] }: PageNode,
  name: string,
  others: readonly string[] = [],
): readonly PageNode[] {
  return childNodes.filter((child) => {
    if (child.nodeName === name) return true;
    if (others.includes(child.nodeName) || child.value?.trim() === "") return false;
    throw new Error(`the page has the node ${child.nodeName} in place of ${name}`);
  });
}
