import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { CallSuspensions } from "../../../src/engine/call/suspension.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { Credential } from "../../../src/http/clients.ts";
import { JournalHistory } from "../../../src/journal/history/journal-history.ts";
import { type Journal, openJournal } from "../../../src/journal/journal.ts";
import { loadPolicyFile } from "../../../src/policy/file/load.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { Notify } from "../../../src/server/notifying/notify.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { HeldTool } from "../../executor/harness.ts";
import {
  type ClientName,
  CREDENTIALS,
  type Execution,
  TestClient,
  TOKENS,
  WritingTool,
} from "../../server/harness.ts";
import { type OpenPage, openPage, PAGE_FOLDER } from "../browser.ts";
import { consoleTools, rulesFor } from "./tools.ts";

/** Dave is an admin, too, so that he may do everything that a person can. */
const PEOPLE: readonly Credential[] = CREDENTIALS.map((credential) =>
  credential.id === "dave" ? { ...credential, roles: ["approver", "admin"] } : credential,
);

/** What {@link openScene} changes. */
export interface SceneOptions {
  /** Further tools. */
  readonly tools?: readonly Tool[];
  /** The registry to use in place of one with the tools of a scene. */
  readonly registry?: ToolRegistry;
  /** Records what happened before the server starts. Default: nothing. */
  readonly record?: (journal: Journal) => Promise<void>;
  /** Keeps programs while they wait. Default: they wait in memory. */
  readonly suspensions?: CallSuspensions;
  /** Who is told of confirmations. */
  readonly notify?: Notify;
  /** The credentials of further clients. */
  readonly clients?: readonly Credential[];
}

/** A server with a console, everything behind it, and what happens there. It is closed when the test finishes. */
export class Scene {
  /** With the files of the server: journal, sessions, policy and workspace. */
  readonly folder: string = realpathSync(mkdtempSync(join(tmpdir(), "console-scene-")));
  readonly workspace: string = join(this.folder, "workspace");
  readonly held: HeldTool = new HeldTool();
  readonly notes: WritingTool = new WritingTool();
  readonly #options: SceneOptions;
  #server: Server | undefined;
  #close: () => Promise<void> = async () => {};
  #calls = 0;

  constructor(options: SceneOptions) {
    this.#options = options;
    mkdirSync(this.workspace);
    onTestFinished(async () => {
      this.held.releaseAll();
      await this.stop();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error("the server does not run");
    return this.#server;
  }

  get origin(): string {
    return `http://${this.server.address}`;
  }

  /** Starts the server, again on the same files after {@link stop}. */
  async start(listen = "127.0.0.1:0"): Promise<void> {
    const directory = join(this.folder, "records");
    mkdirSync(directory, { recursive: true });
    const registry = this.#options.registry ?? new ToolRegistry();
    if (this.#options.registry === undefined) {
      const hold = { ...this.held.tool, sideEffects: "read" } as const;
      for (const tool of [...consoleTools(), hold, this.notes.tool, ...(this.#options.tools ?? [])]) {
        registry.register(tool);
      }
    }
    writeFileSync(join(this.folder, "policy.yaml"), rulesFor(this.workspace));
    const { policy } = await loadPolicyFile(join(this.folder, "policy.yaml"));
    const journal = await openJournal({ directory });
    await this.#options.record?.(journal);
    const sandboxes = await openSandboxes();
    const server = await startServer({
      registry,
      policy,
      sandboxes,
      listen,
      redaction: new Redaction(),
      credentials: [...PEOPLE, ...(this.#options.clients ?? [])],
      journal,
      history: new JournalHistory(journal, directory),
      console: { page: PAGE_FOLDER, operator: { id: "olga", roles: ["admin", "approver"], approves: ["*"] } },
      sessions: {
        store: new SqliteSessionStore(join(this.folder, "sessions.db")),
        workspaces: [this.workspace],
        ...(this.#options.notify && { notify: this.#options.notify }),
      },
      ...(this.#options.suspensions && { suspensions: this.#options.suspensions }),
      limits: { drainMs: 500, queued: 1_000 },
    });
    this.#server = server;
    this.#close = async () => {
      await server.close();
      await sandboxes.close();
      await journal.close();
    };
  }

  async stop(): Promise<void> {
    this.#server = undefined;
    await this.#close();
    this.#close = async () => {};
  }

  client(name: ClientName): TestClient {
    return new TestClient(this.server, name);
  }

  /** Opens the page with a person's token, and waits until events arrive. */
  async open(
    name: ClientName,
    { view = 1, ...options }: { readonly view?: number; readonly colorScheme?: "light" | "dark" } = {},
  ): Promise<OpenPage> {
    const opened = await openPage(`${this.origin}/console/#token=${TOKENS[name]}`, options);
    await opened.page.getByText("connected", { exact: true }).waitFor();
    // A person who answers nothing begins with another view.
    await opened.page.keyboard.press(String(view));
    return opened;
  }

  /** Makes a call of alice's in a session, and does not wait for it. */
  async begin(name: string, args: object = {}, session?: string): Promise<{ session: string; turn: string }> {
    const alice = this.client("alice");
    const id = session ?? (await alice.open());
    const call = { id: `call_${this.#calls++}`, name, arguments: args };
    const { turnId } = await alice.dispatch(id, [call]);
    return { session: id, turn: turnId };
  }

  /** Makes a call of alice's, and waits for its end. */
  async call(
    name: string,
    args: object = {},
    session?: string,
  ): Promise<{ session: string; execution: Execution | undefined }> {
    const begun = await this.begin(name, args, session);
    return { session: begun.session, execution: await this.ended(begun) };
  }

  async ended({ session, turn }: { session: string; turn: string }): Promise<Execution | undefined> {
    return (await this.client("alice").executions(session, turn))[0];
  }

  /** Makes a call that a person is asked about, and waits until they are. */
  async ask(name: string, args: object = {}): Promise<{ session: string; turn: string }> {
    const carol = this.client("carol");
    const before = (await carol.confirmations(0)).length;
    const begun = await this.begin(name, args);
    await carol.confirmations(before + 1);
    return begun;
  }

  /** Holds a change of a file in a session of its own, which is returned. */
  async holdChange(path: string, content: string, session?: string): Promise<string> {
    const alice = this.client("alice");
    const id = session ?? (await alice.open({ workspace: this.workspace, mode: "review" }));
    const { execution } = await this.call("write_file", { path, content }, id);
    if (execution?.success !== true) throw new Error(execution?.error?.message);
    return id;
  }
}

/** Starts a server with a console. */
export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(options);
  await scene.start();
  return scene;
}
