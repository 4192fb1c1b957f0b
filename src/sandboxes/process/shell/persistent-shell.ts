import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { PassThrough, type Readable, type Writable } from "node:stream";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import { shownPath } from "../../../tool/tool-failure.ts";
import { withNetwork } from "../call-network.ts";
import type { Cgroup } from "../cgroups.ts";
import type { GrantedFiles, Launched, Launcher } from "../launcher.ts";
import type { Program } from "../program.ts";
import { ProgramEnd } from "../program-end.ts";
import { madeTexts } from "../program-outcome.ts";

/** The byte before a marker. */
const MARK = 0x1e;

/** How many digits of the exit code follow a marker. */
const CODE_DIGITS = 3;

/** The arguments of bash, which reads its commands from its standard input. */
const SHELL_ARGS: readonly string[] = ["--noprofile", "--norc", "-O", "expand_aliases"];

/** The descriptor over which outputs are exchanged. A command may use it as well: it is put back. */
const SPARE_FD = 240;

/**
 * The first line that the shell reads. It defines a function that reads a marker and writes it to both outputs, with the
 * exit code that it gets. A command never sees its marker: it is read when the command has ended, and no trap that the
 * command set for each command (DEBUG) is left then. If the marker cannot be read or written, the shell exits. What
 * `set -x` says about the function is dropped.
 */
const FIRST_LINE: string = `${[
  "__sandgate_end() { {",
  "builtin trap - DEBUG &&",
  "builtin local __sandgate &&",
  "IFS= builtin read -r __sandgate &&",
  `builtin printf '\\036%s%0${CODE_DIGITS}d' "$__sandgate" "$1" &&`,
  `builtin printf '\\036%s%0${CODE_DIGITS}d' "$__sandgate" "$1" >&${SPARE_FD};`,
  `} ${SPARE_FD}>&2 2>/dev/null || builtin exit "$1" || \\exit "$1"; }; readonly -f __sandgate_end`,
].join(" ")}\n`;

/** What is written to one of a shell's outputs until the end of a command. */
interface CommandOutput {
  /** Without the marker. */
  readonly stream: Readable;
  /** Resolves to the exit code after the marker; to `undefined` if the output ended before it. */
  readonly ended: Promise<number | undefined>;
}

/**
 * One of the outputs of a persistent shell. It is read only while a command runs: what processes write in between waits, and they
 * wait when the pipe is full.
 */
class MarkedOutput {
  readonly #source: Readable;
  #hasEnded = false;

  constructor(source: Readable) {
    this.#source = source;
    source.once("close", () => {
      this.#hasEnded = true;
    });
    source.pause();
  }

  /** Reads until a marker. */
  readUntil(marker: string): CommandOutput {
    const stream = new PassThrough();
    const { promise: ended, resolve } = Promise.withResolvers<number | undefined>();
    const mark = Buffer.from(`${String.fromCharCode(MARK)}${marker}`, "latin1");
    let pending: Buffer = Buffer.alloc(0);
    const readOn = (): void => void this.#source.resume();
    const stop = (code: number | undefined, last: Buffer): void => {
      stream.off("drain", readOn);
      this.#source.off("data", read).off("end", end).off("close", end);
      this.#source.pause();
      stream.end(last);
      // By then, everything that was written has been passed on.
      stream.once("end", () => resolve(code));
    };
    const read = (chunk: Buffer): void => {
      const bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const at = bytes.indexOf(mark);
      const after = at + mark.length + CODE_DIGITS;
      if (at !== -1 && bytes.length >= after) {
        stop(Number(bytes.toString("latin1", at + mark.length, after)), bytes.subarray(0, at));
        if (bytes.length > after) this.#source.unshift(bytes.subarray(after));
        return;
      }
      const whole = at === -1 ? bytes.length - beginningOf(mark, bytes) : at;
      if (whole > 0 && !stream.write(bytes.subarray(0, whole))) {
        this.#source.pause();
        stream.once("drain", readOn);
      }
      pending = bytes.subarray(whole);
    };
    const end = (): void => stop(undefined, pending);
    if (this.#hasEnded) end();
    else this.#source.on("data", read).once("end", end).once("close", end).resume();
    return { stream, ended };
  }

  /** Drops everything, so that the end of the output is seen. */
  drop(): void {
    if (!this.#hasEnded) this.#source.resume();
  }
}

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

/** A bash that runs one command after the other, with its state preserved in between. */
export class PersistentShell {
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

  /** Which of Sandgate's own files it could have reached, so that it was ended. */
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
   * Whether background processes of a command may still run; `true` if that cannot be determined. The shell
   * is the only child of the process with which all end.
   */
  async hasBackground(): Promise<boolean> {
    const pid = await this.launched.pid;
    const [shell, ...others] = (pid === undefined ? undefined : childrenOf(pid)) ?? [];
    return shell === undefined || others.length > 0 || childrenOf(shell)?.length !== 0;
  }

  /** Watches what such processes create until the next command, with files that it closes. */
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

/** How many bytes at the end of a chunk can be the beginning of a marker. */
function beginningOf(mark: Buffer, bytes: Buffer): number {
  // Its first byte is in no other place of it.
  const at = bytes.lastIndexOf(MARK);
  const length = at === -1 ? 0 : bytes.length - at;
  return length < mark.length && bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))
    ? length
    : 0;
}

/**
 * Returns what the shell reads to run a command. The standard input of the command is empty. bash puts back all three
 * streams after it, whatever the command did to them with `exec`.
 *
 * @param marker A line that cannot be guessed.
 */
function commandScript(command: string, marker: string): string {
  const spare = SPARE_FD;
  const streams = `${spare}>&1 1>&${spare} ${spare}>&2 2>&${spare} ${spare}>&- 0</dev/null`;
  return `\\eval ${quote(command)} ${streams}; __sandgate_end $?\n${marker}\n`;
}

/** In single quotes, bash interprets nothing. */
function quote(text: string): string {
  return `'${text.replaceAll("'", () => "'\\''")}'`;
}
