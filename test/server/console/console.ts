import { mkdtempSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Tool } from "../../../src/engine/tool.ts";
import type { ServerOptions } from "../../../src/server/options.ts";
import type { Server } from "../../../src/server/server.ts";
import { type Answer, type Sending, send } from "../../executor/harness.ts";
import { startServer } from "../harness.ts";

/** A page as a build leaves it. */
export const PAGE: Readonly<Record<string, string>> = {
  "index.html": "<!doctype html><script type=module src=/console/assets/index-BzN0V2aF.js></script>",
  "assets/index-BzN0V2aF.js": "document.title = 'Sandgate';",
  "favicon.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
};

/** Starts a server whose console has an operator, who may do everything that a person can. */
export async function startConsole(
  tools: readonly Tool[] = [],
  options: Partial<ServerOptions> = {},
): Promise<Server> {
  const page = mkdtempSync(join(tmpdir(), "console-"));
  for (const [name, content] of Object.entries(PAGE)) {
    await mkdir(dirname(join(page, name)), { recursive: true });
    await writeFile(join(page, name), content);
  }
  const operator = { id: "olga", roles: ["admin", "approver"], approves: ["*"] } as const;
  return startServer(tools, { console: { page, operator }, ...options });
}

/** A browser that shows a page of the server. */
export class Browser {
  readonly #server: Server;
  cookie: string | undefined;

  constructor(server: Server) {
    this.#server = server;
  }

  /** Logs in as the operator. */
  static async operator(server: Server): Promise<Browser> {
    const browser = new Browser(server);
    const answer = await browser.logIn(server.issueConsoleToken());
    if (answer.status !== 204) throw new Error(answer.text);
    return browser;
  }

  get origin(): string {
    return `http://${this.#server.address}`;
  }

  async logIn(token: string, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.send("POST", "/v1/console/session", { body: { token }, headers });
    const [set = ""] = (answer.headers["set-cookie"] ?? []) as string[];
    if (answer.status === 204) this.cookie = set.split(";", 1)[0];
    return answer;
  }

  /** Sends a request as the page would: all but GET have its origin. */
  send(
    method: string,
    path: string,
    {
      body,
      headers = {},
    }: { readonly body?: unknown; readonly headers?: Record<string, string | undefined> } = {},
  ): Promise<Answer> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const sent: Record<string, string | undefined> = {
      "sec-fetch-site": "same-origin",
      "content-length": method === "GET" ? undefined : String(Buffer.byteLength(text)),
      ...(method !== "GET" && { origin: this.origin }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(this.cookie !== undefined && { cookie: this.cookie }),
      ...headers,
    };
    const given = Object.entries(sent).filter(([, value]) => value !== undefined);
    const sending: Sending = {
      method,
      path,
      headers: Object.fromEntries(given) as Record<string, string>,
      body: text,
    };
    return send(this.#server, sending);
  }

  async json<Body>(path: string): Promise<Body> {
    const { status, text } = await this.send("GET", path);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as Body;
  }
}
