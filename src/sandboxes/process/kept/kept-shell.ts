import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Writable } from "node:stream";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import { shownPath } from "../../../tool/file-failure.ts";
import type { Cgroup } from "../cgroups/cgroups.ts";
import type { GrantedFiles, Launched, Launcher } from "../launcher.ts";
import { withNetwork } from "../network/call-network.ts";
import type { Program } from "../program.ts";
import { ProgramEnd } from "../program-end.ts";
import { madeTexts } from "../program-outcome.ts";
import { type CommandOutput, MarkedOutput } from "./marked-output.ts";
import { commandScript, FIRST_LINE, SHELL_ARGS } from "./shell-script.ts";

const MARKER_BYTES = 24;

/** What a shell is started with. The shell closes the files and the cgroup when it ends. */
export interface ShellParts {
  readonly launcher: Launcher;
  readonly program: Program;
  readonly files: GrantedFiles;
  readonly limits: ResourceLimits;
  readonly cgroup: Cgroup | undefined;
}

/** A command that a shell runs. */
export interface RunningCommand {
  readonly stdout: CommandOutput;
  readonly stderr: CommandOutput;
  /** Resolves to the exit code; to `undefined` if the shell ended before the command did, or instead of it. */
  readonly ended: Promise<number | undefined>;
}

/** A bash that runs one command after the other, and keeps its state in between. */
export class KeptShell {
  readonly launched: Launched;
  readonly cgroup: Cgroup | undefined;
  /** Resolves to its exit code when all its processes have ended; to `undefined` if they could not be ended. */
  readonly ended: Promise<number | undefined>;
  readonly #end: ProgramEnd;
  readonly #stdin: Writable;
  readonly #stdout: MarkedOutput;
  readonly #stderr: MarkedOutput;
  #exposed: string | undefined;
  #between: GrantedFiles | undefined;
  #isOver = false;
  #hasRun = false;

  /** @throws {Error} if it cannot be launched. */
  constructor({ launcher, program, files, limits, cgroup }: ShellParts) {
    this.cgroup = cgroup;
    const shell: Program = {
      ...withNetwork(program, undefined),
      command: "bash",
      args: SHELL_ARGS,
      stdin: "",
    };
    this.launched = launcher.launch({ program: shell, files, limits, cgroup, hasInput: true });
    this.#stdin = this.launched.stdin as Writable;
    this.#end = new ProgramEnd(this.launched);
    this.#stdout = new MarkedOutput(this.launched.stdout);
    this.#stderr = new MarkedOutput(this.launched.stderr);
    files.onExposed((path) => {
      this.#exposed = path;
      this.kill();
    });
    this.#stdin.write(FIRST_LINE);
    this.ended = this.#finish(files);
  }

  /** Whether it has ended or is about to. */
  get isOver(): boolean {
    return this.#isOver || (this.#hasRun && this.launched.hasEnded);
  }

  /** Which file of Sandgate itself it could have reached, so that it was ended. */
  get exposed(): string | undefined {
    return this.#exposed;
  }

  /** Runs a command. Called only when the one before it has ended. */
  run(command: string): RunningCommand {
    this.#hasRun = true;
    const marker = randomBytes(MARKER_BYTES).toString("hex");
    const stdout = this.#stdout.readUntil(marker);
    const stderr = this.#stderr.readUntil(marker);
    this.#stdin.write(commandScript(command, marker));
    const ended = Promise.all([stdout.ended, stderr.ended]).then(([code, other]) =>
      other === undefined ? undefined : code,
    );
    return { stdout, stderr, ended };
  }

  /**
   * Whether processes go on that a command has started in the background; also if it cannot be found out. The shell is the only
   * child of the process with which all end.
   */
  async hasBackground(): Promise<boolean> {
    const pid = await this.launched.pid;
    const [shell, ...others] = (pid === undefined ? undefined : childrenOf(pid)) ?? [];
    return shell === undefined || others.length > 0 || childrenOf(shell)?.length !== 0;
  }

  /** Has a watch of its files, which it closes, see what such processes make until the next command. */
  watchBetween(files: GrantedFiles): void {
    this.#between = files;
  }

  /** Moves aside what they have made where other programs would run it. */
  async moveBetweenAside(): Promise<readonly string[]> {
    const files = this.#between;
    this.#between = undefined;
    if (files === undefined) return [];
    try {
      return madeTexts(await files.moveAside(), shownPath);
    } finally {
      await files[Symbol.asyncDispose]();
    }
  }

  /** Kills it with all its processes. Can be repeated. */
  kill(): void {
    this.#isOver = true;
    this.launched.keepAlive(true);
    this.#end.kill();
  }

  async #finish(files: GrantedFiles): Promise<number | undefined> {
    await this.#end.exited;
    this.#isOver = true;
    this.#stdout.drop();
    this.#stderr.drop();
    const code = await this.#end.finish();
    for (const text of await this.moveBetweenAside())
      process.emitWarning(text, { code: "SANDGATE_MOVED_ASIDE" });
    await files[Symbol.asyncDispose]();
    await this.cgroup?.[Symbol.asyncDispose]();
    return code;
  }
}

function childrenOf(pid: number): readonly number[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  } catch {
    return undefined;
  }
}
