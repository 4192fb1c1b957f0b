import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import { notFound } from "../../http/refusals.ts";
import { remoteProblem } from "../../remote-protocol/problems.ts";

/** Where the page is served. */
export const PAGE_PATH = "/console/";
/** More would not be a page that was built for this. */
const MAX_FILES = 500;
const MAX_BYTES = 32 * 1_024 * 1_024;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/** The page loads nothing from elsewhere, and no other page can frame it. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** A name with a hash of its content, such as `assets/index-BzN0V2aF.js`: another content has another name. */
const HASHED = /^assets\/.+-[\w-]{8,}\.\w+$/;
const FOREVER = "public, max-age=31536000, immutable";

interface PageFile {
  readonly content: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
}

/** The files of the page. They are in memory: a request never reaches the file system. */
export class PageFiles {
  readonly #files: ReadonlyMap<string, PageFile>;

  private constructor(files: ReadonlyMap<string, PageFile>) {
    this.#files = files;
  }

  /**
   * Reads every file of a folder and its subfolders.
   *
   * @throws {TypeError} as a rejection, if the folder cannot be read, or has more than 500 files or 32 MiB.
   */
  static async read(folder: string): Promise<PageFiles> {
    const files = new Map<string, PageFile>();
    let bytes = 0;
    for (const entry of await entriesOf(folder)) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const content = await readFile(path);
      bytes += content.length;
      if (files.size === MAX_FILES || bytes > MAX_BYTES)
        throw new TypeError(
          `the folder of the console '${folder}' has too many files: it must be a built page`,
        );
      const name = path.slice(join(folder, sep).length).replaceAll(sep, "/");
      files.set(name, pageFile(name, content));
    }
    return new PageFiles(files);
  }

  /** Reads the page of this package. A working copy in which it was not built has none. */
  static async readOwn(): Promise<PageFiles> {
    const folder = fileURLToPath(new URL("dist/console", PACKAGE_FOLDER));
    return existsSync(folder) ? PageFiles.read(folder) : new PageFiles(new Map());
  }

  /** @throws {RequestRefusal} if there is no such file, or the method is neither GET nor HEAD. */
  respond({ method, url = "", headers }: IncomingMessage, response: ServerResponse): void {
    if (method !== "GET" && method !== "HEAD")
      throw remoteProblem("method_not_allowed", "the method must be GET or HEAD");
    const [path = ""] = url.split("?", 1);
    if (path === "/console") {
      response.writeHead(308, { ...SECURITY_HEADERS, location: PAGE_PATH, "content-length": 0 }).end();
      return;
    }
    const file = this.#files.get(path.slice(PAGE_PATH.length) || "index.html");
    if (file === undefined) throw notFound();
    if (headers["if-none-match"] === file.etag) {
      response.writeHead(304, file.headers).end();
      return;
    }
    response.writeHead(200, { ...file.headers, "content-length": file.content.length });
    response.end(method === "HEAD" ? undefined : file.content);
  }
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { recursive: true, withFileTypes: true });
  } catch (cause) {
    throw new TypeError(`the folder of the console '${folder}' cannot be read`, { cause });
  }
}

function pageFile(name: string, content: Buffer): PageFile {
  const etag = `"${hash("sha256", content, "base64url").slice(0, 22)}"`;
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": MEDIA_TYPES[extname(name)] ?? "application/octet-stream",
    "cache-control": HASHED.test(name) ? FOREVER : "no-cache",
    etag,
  };
  return { content, headers, etag };
}
