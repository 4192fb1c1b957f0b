import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { NotHereError, type OpenCase } from "../harness/case.ts";
import { INPUT_TEXT, isInput } from "../setting.ts";

const BUBBLEWRAP = "/usr/bin/bwrap";

/** About the options that the sandbox gives, except for the files of the system that it hides. */
const OPTIONS = [
  "--unshare-all",
  "--unshare-user",
  "--disable-userns",
  "--die-with-parent",
  "--new-session",
  "--uid",
  "1000",
  "--gid",
  "1000",
  "--cap-drop",
  "ALL",
  "--clearenv",
  "--setenv",
  "PATH",
  "/usr/bin:/bin",
  "--ro-bind",
  "/usr",
  "/usr",
  "--symlink",
  "usr/bin",
  "/bin",
  "--symlink",
  "usr/lib",
  "/lib",
  "--symlink",
  "usr/lib64",
  "/lib64",
  "--proc",
  "/proc",
  "--dev",
  "/dev",
  "--tmpfs",
  "/tmp",
];

/** Opens a case that starts `cat`, writes the input to it and reads it back. */
export function openBareSpawn(): OpenCase {
  return openSpawn("/usr/bin/cat", []);
}

/** The same in bubblewrap, which is started for the call. */
export function openBubblewrap(): OpenCase {
  if (!existsSync(BUBBLEWRAP)) throw new NotHereError(`there is no ${BUBBLEWRAP}`);
  return openSpawn(BUBBLEWRAP, [...OPTIONS, "--", "/usr/bin/cat"]);
}

function openSpawn(command: string, args: readonly string[]): OpenCase {
  return {
    run: async () => {
      const child = spawn(command, args, { env: {}, stdio: ["pipe", "pipe", "pipe"] });
      child.stdin.end(INPUT_TEXT);
      return JSON.parse(await text(child.stdout));
    },
    check: isInput,
  };
}
