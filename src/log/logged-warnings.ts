import type { Log } from "./log.ts";

/** The codes of warnings that no call runs: as serious as a journal that cannot be written. */
const ERRORS: ReadonlySet<string> = new Set(["SANDGATE_SESSION_STORE_FAILED"]);

type WarningListener = (warning: Error) => void;

/** Writes the warnings of this process to a log, in place of Node.js, which prints them to standard error. */
export class LoggedWarnings implements Disposable {
  readonly #replaced: readonly WarningListener[] = process.listeners("warning");
  readonly #listener: WarningListener;

  constructor(log: Log) {
    this.#listener = (warning) => {
      const { name, message } = warning;
      const { code } = warning as NodeJS.ErrnoException;
      const level = code !== undefined && ERRORS.has(code) ? "error" : "warn";
      log.write({ level, event: "process.warning", fields: { name, code, message } });
    };
    process.removeAllListeners("warning");
    process.on("warning", this.#listener);
  }

  [Symbol.dispose](): void {
    process.off("warning", this.#listener);
    for (const listener of this.#replaced) process.on("warning", listener);
  }
}
