import { Writable } from "node:stream";
import { run } from "./run.ts";
import { hasColors } from "./terminal/styled.ts";

/** Runs the command line of this process, and ends the process with its exit code. */
export async function start(): Promise<never> {
  const interruption = new AbortController();
  // Handles only the first SIGINT. A second one ends the process, even if a tool hangs.
  process.once("SIGINT", () => interruption.abort());
  // A tool may wait for the interruption only. Without a timer the process would exit before its result.
  setInterval(() => {}, 60_000);
  // The reader may close the pipe, like `head` does. That is not an error.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

  const { stdin } = process;
  const stderr = Object.assign(process.stderr, { showsStyles: hasColors(process.stderr) });
  const write = process.stdout.write.bind(process.stdout);
  const stdout = Object.assign(
    new Writable({ write: (chunk, encoding, done) => void write(chunk, encoding, done) }),
    process.stdout.columns === undefined ? {} : { columns: process.stdout.columns },
    { showsStyles: hasColors(process.stdout) },
  );
  // Its error is that of the pipe: what is written later is dropped.
  stdout.on("error", () => {});
  // Standard output is for results. What trusted tools print, here or in a thread, goes to standard error.
  process.stdout.write = stderr.write.bind(stderr);
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  const terminal = { stdin, stdout, stderr, isInteractive, signal: interruption.signal };
  const exitCode = await run(process.argv.slice(2), terminal);
  // Everything is written. Timers or handles that a tool left behind must not keep the process alive.
  process.exit(exitCode);
}
