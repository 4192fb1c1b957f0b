import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";

/** Milliseconds between two polls whether the state has been saved. */
const POLL_MS = 20;

/** The bandwidth for saving a state, in bytes per second: the maximum. */
const BANDWIDTH = 100_000_000_000;

/** The longest line that the monitor sends, in UTF-16 code units. */
const MAX_LINE = 1_024 * 1_024;

type Reply = { readonly return?: unknown; readonly error?: { readonly desc?: string } };

/** Makes QEMU leave memory that is in a file out of the state. By default, a state contains all memory. */
const WITHOUT_FILES = {
  execute: "migrate-set-capabilities",
  arguments: { capabilities: [{ capability: "x-ignore-shared", state: true }] },
};

/**
 * Makes a waiting QEMU process load a state, and start the machine. Its answers are not read, since a machine
 * may have taken the process over.
 *
 * @param descriptor The number that the state has in that process.
 */
export function loadState(monitor: Duplex, descriptor: number): void {
  const commands = [
    { execute: "qmp_capabilities" },
    WITHOUT_FILES,
    { execute: "migrate-incoming", arguments: { uri: `fd:${descriptor}` } },
  ];
  monitor.resume();
  monitor.write(commands.map((command) => `${JSON.stringify(command)}\n`).join(""));
}

/** The monitor of a QEMU process (QMP, docs/interop/qmp-spec.txt). */
export class Monitor {
  readonly #stream: Duplex;
  readonly #waiting: ((reply: Reply) => void)[] = [];
  readonly #gone: Promise<never>;
  #rest = "";

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    this.#gone = new Promise((_, reject) => {
      stream.on("error", () => {}).on("close", () => reject(new Error("QEMU ended")));
    });
    this.#gone.catch(() => {});
  }

  /**
   * Sends the state of the machine to a unix socket. The machine stops, and continues when it is restored.
   *
   * @param memory Whether the state includes memory that is in a file.
   * @throws {Error} if QEMU ends or cannot save it.
   */
  async saveTo(socket: string, memory: "with-files" | "without-files"): Promise<void> {
    await this.#execute("qmp_capabilities");
    if (memory === "without-files") await this.#execute(WITHOUT_FILES.execute, WITHOUT_FILES.arguments);
    await this.#execute("migrate-set-parameters", { "max-bandwidth": BANDWIDTH });
    await this.#execute("migrate", { uri: `unix:${socket}` });
    for (;;) {
      const { status, ...rest } = (await this.#execute("query-migrate")) as { status?: string };
      if (status === "completed") return;
      if (status === "failed" || status === "cancelled")
        throw new Error(`QEMU could not save the machine: ${JSON.stringify(rest)}`);
      await wait(POLL_MS);
    }
  }

  async #execute(command: string, args?: object): Promise<unknown> {
    const replied = new Promise<Reply>((resolve) => this.#waiting.push(resolve));
    this.#stream.write(`${JSON.stringify({ execute: command, arguments: args })}\n`);
    const reply = await Promise.race([replied, this.#gone]);
    if (reply.error !== undefined) throw new Error(`QEMU refused ${command}: ${reply.error.desc}`);
    return reply.return;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE) this.#stream.destroy();
    for (const line of lines) {
      const message = JSON.parse(line) as Reply;
      // Greetings and events have neither.
      if ("return" in message || "error" in message) this.#waiting.shift()?.(message);
    }
  }
}
